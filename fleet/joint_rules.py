"""The rules of a front and of a worker's operator as one set: the strictest wins."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import policy
from executor.caller import Consent
from policy.model import Decision
from policy.rules import Rule, Rules

NOBODY_ASKED: Final = "a worker's own rules ask, and there is nobody to be asked"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SAME = ("rule_id", "rule", "file", "line")


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
