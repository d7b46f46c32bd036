"""The rules of a front, for where its project lies at a worker, and of the worker's operator.

Of both as one set the strictest wins.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import policy
from executor.caller import Consent
from policy.model import Decision
from policy.path_patterns import segment_meets
from policy.paths import lies_in
from policy.rules import Rule, Rules

NOBODY_ASKED: Final = "a worker's own rules ask, and there is nobody to be asked"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SAME = ("rule_id", "rule", "file", "line")


_ALL = "/**"
_FOLDERS = "**"


def load_operator_rules(file: Path | None, project: Path, home: Path) -> Rules:
    """What the operator of a worker forbids there; nothing where there is no such file.

    Raises:
        policy.RuleFileError: it can't be used, or others may write to it.
    """
    if file is None:
        return Rules()
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return Rules()
    except OSError as error:
        remedy = "Make it a readable file, or remove it"
        raise policy.RuleFileError(str(file), 1, f"cannot be read: {error}", remedy) from error
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & _OTHERS_WRITE:
        raise policy.RuleFileError(
            str(file), 1, "others may write to it", f"chown {os.geteuid()} it, and chmod go-w it"
        )
    return policy.load_file(file, project=project, home=home)


def join(front: Rules, operator: Rules) -> Rules:
    """One set of rules by which a worker judges.

    The operator's rules that ask deny, since nobody is there to be asked. Only the side whose
    default is to ask or deny has allow rules: they say nothing against what the other side forbids.
    """
    restricts = operator.default is not Decision.ALLOW
    of_front = (r for r in front.rules if not restricts or r.decision is not Decision.ALLOW)
    of_operator = (
        _without_asking(r) for r in operator.rules if restricts or r.decision is not Decision.ALLOW
    )
    return Rules(
        rules=(*of_operator, *of_front),
        sources=(*operator.sources, *front.sources),
        default=operator.default if restricts else front.default,
    )


def consent_by(sealed: Mapping[str, Any] | None, operator: Rules) -> Consent:
    """Consent as a front has sealed it: to the very rules that a person was asked about."""
    agreed = sealed if sealed and sealed.get("consent") is True else {}
    asked = None if agreed.get("decision") != "ask" else _rules_that_ask(agreed)

    async def consent(verdict: Mapping[str, Any]) -> bool | None:
        if asked is None:
            return None
        asking = _rules_that_ask(verdict)
        if not asking:  # by the default alone
            return operator.default is not Decision.ASK and not asked
        return asking <= asked

    return consent


def _rules_that_ask(verdict: Mapping[str, Any]) -> frozenset[tuple[Any, ...]]:
    """What identifies the rules of a verdict that ask; a front may have sealed any JSON."""
    matches = verdict.get("matches")
    found = matches if isinstance(matches, list | tuple) else ()
    return frozenset(
        tuple(str(match.get(name)) for name in _SAME)
        for match in found
        if isinstance(match, Mapping) and match.get("decision") == "ask"
    )


def _without_asking(rule: Rule) -> Rule:
    if rule.decision is not Decision.ASK:
        return rule
    return rule._replace(decision=Decision.DENY, reason=rule.reason or NOBODY_ASKED)


def relocate(rules: Rules, project: str, here: str) -> Rules:
    """The rules of a front whose `project` lies `here`; both are absolute.

    A rule about the project, or about a folder around it, is one about the same files here. One
    about other places stays as it is, unless it would speak of the folders that lead `here`.
    """
    moved = tuple(one for rule in rules.rules for one in _relocate(rule, project, here))
    return rules._replace(rules=moved, untrusted=())


def _relocate(rule: Rule, project: str, here: str) -> Iterator[Rule]:
    if rule.kind not in ("read", "edit"):
        yield rule
        return
    if rule.anchor is not None and lies_in(rule.anchor, project):
        yield rule._replace(anchor=here + rule.anchor[len(project.rstrip("/")) :])
        return
    for spec in _inside(rule, project):
        yield rule._replace(anchor=here, spec=spec)
    if not any(spec == _ALL or _is_anchored(rule.spec) for spec in _inside(rule, here)):
        yield rule


def _inside(rule: Rule, folder: str) -> Iterator[str]:
    """Return a rule, seen from none or from above a folder, as it applies to what is in it."""
    anchor = (rule.anchor or "/").rstrip("/")
    if not lies_in(folder, anchor or "/"):
        return
    way = [name for name in folder[len(anchor) :].split("/") if name]
    if not _is_anchored(rule.spec):
        name = rule.spec.rstrip("/")
        is_met = name.strip("*") and any(segment_meets(name, one) for one in way)
        yield _ALL if is_met else rule.spec
        return
    named = (name for name in rule.spec.split("/") if name)
    names = [name if name.strip("*") or name == "*" else _FOLDERS for name in named]
    yield from dict.fromkeys(_rest(names, way, only_below=rule.spec.endswith("/")))


def _rest(names: Sequence[str], way: Sequence[str], *, only_below: bool) -> Iterator[str]:
    """Return the rests of a pattern that has led all the way, one for each way to do so."""
    met = {0}
    for name in way:
        met = _with_skipped(names, met)
        if len(names) in met:
            yield _ALL
            return
        met = {
            at if names[at] == _FOLDERS else at + 1
            for at in met
            if names[at] == _FOLDERS or segment_meets(names[at], name)
        }
    for at in sorted(met):
        rest = names[at:]
        yield "/" + "/".join(rest) + "/" * only_below if rest else _ALL


def _with_skipped(names: Sequence[str], met: set[int]) -> set[int]:
    """With what follows a `**` that stands for no folder at all."""
    found = set(met)
    for at, name in enumerate(names):
        if at in found and name == _FOLDERS:
            found.add(at + 1)
    return found


def _is_anchored(spec: str) -> bool:
    """Tell whether a pattern says where it begins; else it is a name, at any depth."""
    return "/" in spec.rstrip("/")
