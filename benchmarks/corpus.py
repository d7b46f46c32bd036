"""False alarms on real commands, under three sets of rules.

Each command is judged as on an agent's own shell. A refusal is plain if the command itself names
what the rule names (`curl …` under `Bash(curl *)`); every other one is a suspect, to be looked at.
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import policy.decide
from benchmarks.commands import Found
from benchmarks.harness import DATA, write_files
from policy.claude import Anchors, parse_rule
from policy.judging import script_texts
from policy.model import DEFAULT_RULES, Decision, RuleSource

_DATA: Mapping[str, Any] = tomllib.loads((DATA / "rule_sets.toml").read_text())
RULE_SETS: Mapping[str, Mapping[str, Sequence[str]]] = _DATA["rule_sets"]
PLAIN: Mapping[str, str] = {
    rule: pattern.replace("START", _DATA["start"]) for rule, pattern in _DATA["plain"].items()
}
"""Patterns of how a command names what a rule names."""

HOME = "/home/u"


class Ruling(NamedTuple):
    """One rule set's verdict on one command, and the seconds of processor time it took."""

    command: Found
    verdict: policy.Verdict
    seconds: float

    @property
    def is_suspect(self) -> bool:
        """Tell whether the command is refused and names nothing that the deciding rules name."""
        decision = self.verdict.decision
        refusing = {match.rule for match in self.verdict.matches if match.decision is decision}
        patterns = [PLAIN[rule] for rule in refusing if rule in PLAIN]
        code = self.command[0]
        named = any(re.search(pattern, code, re.MULTILINE) for pattern in patterns)
        return not self.verdict.allowed and not named

    def describe(self) -> str:
        """Write the first rule that refuses a suspect, and the command."""
        decision = self.verdict.decision
        match = next(one for one in self.verdict.matches if one.decision is decision)
        text = f"{decision.word} by {match.rule} ({match.reason or match.kind})"
        return f"{self.command[1]}: {text} in {self.command[0][:300]!r}"


def parse_rules(lists: Mapping[str, Sequence[str]], project: str) -> policy.Rules:
    """Return the rules of a settings file in a project, with the shipped defaults."""
    anchors = Anchors(HOME, project, project)
    found = [
        parse_rule(text, Decision[name.upper()], RuleSource("settings.json"), anchors)[0]
        for name, texts in lists.items()
        for text in texts
    ]
    return policy.Rules((*filter(None, found), *DEFAULT_RULES))


def judge(commands: Iterable[Found], rules: policy.Rules, project: str) -> list[Ruling]:
    """Judge each command as a host's hook does, but warm."""
    texts = script_texts(project)
    found = []
    for one in commands:
        subject = policy.Subject("shell", one[0], project, project, HOME, surface="agent_shell")
        began = time.thread_time()
        verdict = policy.decide.evaluate(
            subject, rules, real_path=policy.real_path, read_text=texts
        )
        found.append(Ruling(one, verdict, time.thread_time() - began))
    return found


def judge_all(commands: Sequence[Found], folder: Path) -> dict[str, list[Ruling]]:
    """Judge by each rule set, in a project that has the files that rules name."""
    write_files(folder, ((name, "x\n") for name in _DATA["files"]))
    project = str(folder)
    judge(commands[:50], parse_rules({}, project), project)  # what is loaded once
    return {
        name: judge(commands, parse_rules(lists, project), project)
        for name, lists in RULE_SETS.items()
    }
