"""False alarms and time per check on real commands, under three sets of rules.

    python -m benchmarks.policy_corpus [--tldr FOLDER] [--max N] [--list] [--json] [PROJECT …]
    python -m benchmarks.policy_corpus --commands FILE

The commands are those of installed manuals and packages, and of the CI steps, recipes, scripts and
documents of the projects named. Each is judged as on an agent's own shell. A refusal is *plain*
where the command itself names what the rule names (`curl …` under `Bash(curl *)`, `.env` under
`Read(./.env)`); every other one is a *suspect*, for a person to judge: `--list` shows them.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import policy
from benchmarks.policy_commands import collect_commands, read_commands
from benchmarks.project_commands import Found
from benchmarks.report import Report, Row, argument_parser, show, summary
from policy.claude import Anchors, parse_rule
from policy.model import Decision, Match, RuleSource
from policy.rules import DEFAULT_RULES
from policy.script_texts import script_texts

# By the list of a settings file: what the documentation of Claude Code shows, and what people have.
DOCUMENTED = {
    "deny": (
        "Bash(curl *)",
        "Read(./.env)",
        "Read(./.env.*)",
        "Read(./secrets/**)",
        "Read(./config/credentials.json)",
        "Read(./build)",
    ),
    "allow": ("Bash(npm run lint)", "Bash(npm run test *)", "Read(~/.zshrc)"),
}
EVERYDAY = {
    "deny": (
        "Bash(rm -rf *)",
        "Bash(sudo *)",
        "Bash(git push --force *)",
        "Bash(git push -f *)",
        "Read(.env)",
        "Read(~/.ssh/**)",
    )
}
RULE_SETS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "defaults": {},
    "documented": DOCUMENTED,
    "everyday": EVERYDAY,
}

# What a command begins with: a line, a separator, a bracket, or a program that starts another one.
_START = (
    r"(?:^|[;|&({`!]|\b(?:do|then|else|time|exec|env|xargs|sudo|nohup|command|noglob|eval)\s)\s*"
    r"(?:\w+=\S*\s+)*(?:[\w./~-]*/)?"
)
_ENV = r"(?<![\w.-])\.env(?![\w-])"
# How a command names what a rule names.
PLAIN = {
    "Bash(curl *)": rf"{_START}curl(?!\S)",
    "curl and wget whose answer reaches the output": rf"{_START}(?:curl|wget)(?!\S)",
    "Bash(sudo *)": rf"{_START}sudo(?!\S)",
    "Bash(rm -rf *)": rf"{_START}rm\s+(?:-\S+\s+)*-(?:\w*(?:[rR]\w*f|f\w*[rR])|-recursive|-force)",
    "Bash(git push --force *)": rf"{_START}git\s[^;|&]*push\s[^;|&]*(?:--force|-f\b|\s\+\w)",
    "Bash(git push -f *)": rf"{_START}git\s[^;|&]*push\s[^;|&]*(?:--force|-f\b|\s\+\w)",
    "Read(.env)": _ENV,
    "Read(./.env)": _ENV,
    "Read(./.env.*)": rf"{_ENV}\.\w",
    "Read(./secrets/**)": r"\bsecrets(?:/|\s|$)",
    "Read(./config/credentials.json)": r"\bcredentials\.json\b",
    "Read(./build)": (
        r"(?<![\w./-])(?:\./)?build/|(?<!\S)\./build(?!\S)"
        r"|\b(?:cat|cp|du|find|grep|ls|mv|rm|tar|zip)\s(?:[^;|&\n]*\s)?build(?![\w.-])"
    ),
    "Read(~/.ssh/**)": r"(?:~|\$HOME|\$\{HOME\}|/root|/home/\w+)/\.ssh\b",
}
HOME = "/home/u"
TREE = (
    "README.md",
    "src/app.py",
    ".env",
    "secrets/key.txt",
    "config/credentials.json",
    "build/a.o",
)


class Ruling(NamedTuple):
    """What one rule set says of one command, after how many seconds of processor time."""

    command: Found
    verdict: policy.Verdict
    seconds: float

    @property
    def deciding(self) -> Match | None:
        """The first match of the decision; None where the command is allowed."""
        refusing = [
            match for match in self.verdict.matches if match.decision is self.verdict.decision
        ]
        return refusing[0] if refusing and not self.verdict.allowed else None

    @property
    def is_suspect(self) -> bool:
        """Whether the command is refused and names nothing that the rules of that decision name."""
        decision = self.verdict.decision
        refusing = {match.rule for match in self.verdict.matches if match.decision is decision}
        patterns = [PLAIN[rule] for rule in refusing if rule in PLAIN]
        code = self.command.command
        named = any(re.search(pattern, code, re.MULTILINE) for pattern in patterns)
        return not self.verdict.allowed and not named


def parse_rules(lists: Mapping[str, Sequence[str]], project: str) -> policy.Rules:
    """The rules of a settings file in a project, with the shipped defaults."""
    anchors = Anchors(HOME, project, project)
    found = [
        parse_rule(text, Decision[name.upper()], RuleSource("settings.json"), anchors)[0]
        for name, texts in lists.items()
        for text in texts
    ]
    return policy.Rules((*filter(None, found), *DEFAULT_RULES))


def judge(commands: Iterable[Found], rules: policy.Rules, project: str) -> list[Ruling]:
    """Each command as a host's hook has it judged, but warm."""
    texts = script_texts(project)
    found = []
    for one in commands:
        subject = policy.Subject(
            "shell", one.command, project, project, HOME, surface="agent_shell"
        )
        began = time.thread_time()
        verdict = policy.evaluate(subject, rules, real_path=policy.real_path, read_text=texts)
        found.append(Ruling(one, verdict, time.thread_time() - began))
    return found


def measure(commands: Sequence[Found]) -> dict[str, list[Ruling]]:
    """The rulings by rule set, in a project that has what the rules name."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        for name in TREE:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x\n")
        judge(commands[:50], parse_rules({}, folder), folder)  # what is loaded once
        return {
            name: judge(commands, parse_rules(lists, folder), folder)
            for name, lists in RULE_SETS.items()
        }


def report(rulings: Mapping[str, Sequence[Ruling]]) -> Report:
    """Times, decisions, and refusals of both kinds, by rule set."""
    found = Report("policy_corpus")
    commands = [ruling.command for ruling in next(iter(rulings.values()))]
    for name, some in rulings.items():
        seconds = [ruling.seconds for ruling in some]
        found.add(Row(f"a check, {name}", summary(seconds)))
        found.figures[f"{name}_max_ms"] = max(seconds) * 1000
        for word, number in Counter(ruling.verdict.decision.word for ruling in some).items():
            found.figures[f"{name}_{word}"] = number
        suspects = sum(ruling.is_suspect for ruling in some)
        refused = sum(not ruling.verdict.allowed for ruling in some)
        found.figures[f"{name}_refused_plain"] = refused - suspects
        found.figures[f"{name}_refused_suspects"] = suspects
        found.figures[f"{name}_refused_plain_percent"] = 100 * (refused - suspects) / len(some)
        found.figures[f"{name}_refused_suspects_percent"] = 100 * suspects / len(some)
    origins = Counter(command.origin for command in commands).most_common()
    found.notes = (
        f"{len(commands):,} commands: "
        + ", ".join(f"{number:,} {origin}" for origin, number in origins),
        "processor time of one check, warm; suspects name nothing that the refusing rule names",
    )
    return found


def show_suspects(rulings: Mapping[str, Sequence[Ruling]]) -> None:
    """Every suspect, with the match that refuses it."""
    for name, some in rulings.items():
        for ruling in some:
            match = ruling.deciding
            if ruling.is_suspect and match is not None:
                says = f"{match.decision.word} by {match.rule} ({match.reason or match.kind})"
                print(f"\n{name}, {ruling.command.origin}: {says}")
                print(f"    {' '.join(match.argv) or match.text!r}"[:200])
                print(f"    in {ruling.command.command[:300]!r}")


def main() -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("projects", nargs="*", type=Path, metavar="PROJECT")
    parser.add_argument("--tldr", type=Path, metavar="FOLDER", help="tldr pages (*.md), below it")
    parser.add_argument("--max", type=int, default=3_500, metavar="N", help="commands at most")
    parser.add_argument("--commands", type=Path, metavar="FILE", help="JSON lines, not to collect")
    parser.add_argument("--list", action="store_true", help="show every suspect")
    args = parser.parse_args()
    if args.commands:
        commands = read_commands(args.commands)
    else:
        commands = collect_commands(args.projects, args.tldr, args.max)
    rulings = measure(commands)
    show(report(rulings), as_json=args.json)
    if args.list:
        show_suspects(rulings)


if __name__ == "__main__":
    main()
