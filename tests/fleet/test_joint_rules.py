"""A worker judges by two sets of rules, of which the strictest wins; consent is to a very rule."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import policy
from executor.model import Status
from executor.request import Caller, refusal
from fleet import model
from fleet.slot import consent_by, join, load_operator_rules, relocate
from policy.model import DEFAULT_RULES, Decision, Rule, Rules, RuleSource, Subject

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def rules(*given: tuple[str, Decision], default: Decision = ALLOW, file: str = "rules") -> Rules:
    made = (
        Rule(f"r{n}", "command", f"Bash({spec})", spec, decision, RuleSource(file, n))
        for n, (spec, decision) in enumerate(given, 1)
    )
    return Rules(tuple(made), default=default)


def verdict(front: Rules, code: str = "ls all") -> dict:
    return policy.judge(Subject("shell", code), front).to_json()


async def ends(front: Rules, operator: Rules, sealed: dict | None) -> Status | None:
    """How a run ends that is not to begin; None if it begins."""
    judged = policy.judge(Subject("shell", "ls all"), join(front, operator)).to_json()
    caller = Caller(consent=consent_by(sealed, operator))
    return refusal(await caller.settle(judged))


NOTHING = Rules()
FRONT_ASKS = rules(("ls *", ASK), file="front")
CASES = {
    "both allow": (NOTHING, NOTHING, None, None),
    "the front denies": (rules(("ls *", DENY)), NOTHING, None, Status.DENIED),
    "the operator denies": (NOTHING, rules(("ls *", DENY)), None, Status.DENIED),
    "an operator's allow does not loosen the front's deny": (
        rules(("ls *", DENY)),
        rules(("ls all", ALLOW)),
        None,
        Status.DENIED,
    ),
    "the operator asks, and nobody is there": (
        NOTHING,
        rules(("ls *", ASK)),
        None,
        Status.DENIED,
    ),
    "the operator asks, whatever a person said at the front": (
        FRONT_ASKS,
        rules(("ls *", ASK)),
        True,
        Status.DENIED,
    ),
    "the front asks, and a person agreed": (FRONT_ASKS, NOTHING, True, None),
    "the front asks, and a person did not": (FRONT_ASKS, NOTHING, False, Status.DENIED),
    "the front asks, and nobody was asked": (FRONT_ASKS, NOTHING, None, Status.DENIED),
    "the front's default asks, and a person agreed": (rules(default=ASK), NOTHING, True, None),
    "the front's default asks, and nobody did": (rules(default=ASK), NOTHING, None, Status.DENIED),
    "the operator's default asks, and it allows nothing": (
        NOTHING,
        rules(default=ASK),
        None,
        Status.DENIED,
    ),
    "the operator's default asks, and a person agreed at the front": (
        rules(default=ASK),
        rules(default=ASK),
        True,
        Status.DENIED,
    ),
    "the operator's default asks, and the front alone allows": (
        rules(("ls all", ALLOW)),
        rules(default=ASK),
        None,
        Status.DENIED,
    ),
    "the operator's default asks, and it allows this": (
        NOTHING,
        rules(("ls all", ALLOW), default=ASK),
        None,
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_strictest_wins(case):
    front, operator, consent, expected = CASES[case]
    assert await ends(front, operator, verdict(front) | {"consent": consent}) is expected


@pytest.mark.parametrize(
    "sealed",
    [
        None,
        {},
        {"decision": "ask", "consent": True},
        {"decision": "ask", "consent": True, "matches": "r1"},
        {"decision": "ask", "consent": True, "matches": [1, None, []]},
        verdict(rules(("ls *", ASK), file="another")) | {"consent": True},
        verdict(rules(("l* all", ASK), file="front")) | {"consent": True},
        verdict(FRONT_ASKS) | {"consent": "yes"},
        verdict(FRONT_ASKS) | {"consent": 1},
        verdict(FRONT_ASKS) | {"consent": True, "decision": "allow"},
    ],
)
async def test_consent_to_anything_else_is_none(sealed):
    assert await ends(FRONT_ASKS, NOTHING, sealed) is Status.DENIED


def test_rules_of_redirects_are_joined_though_they_have_no_hash():
    order = model.decode(Rules, model.encode(Rules(DEFAULT_RULES)))
    joined = join(relocate(order, "/front", "/here"), Rules(DEFAULT_RULES))
    assert [rule.id for rule in joined.rules] == ["default.download"] * 2


def test_no_file_is_no_rules(tmp_path: Path):
    assert load_operator_rules(None, tmp_path, tmp_path) == Rules()
    assert load_operator_rules(tmp_path / "absent", tmp_path, tmp_path) == Rules()


def test_an_operators_file_is_read_for_the_project_at_hand(tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nid = "keys"\nread = ["/keys/**"]\ndecision = "deny"\n')
    file.chmod(0o644)
    (found,) = load_operator_rules(file, tmp_path / "slot", tmp_path).of("read")
    assert (found.decision, found.anchor) == (DENY, str(tmp_path / "slot"))


@pytest.mark.parametrize("mode", [0o622, 0o664, 0o602])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int):
    file = tmp_path / "rules.toml"
    file.write_text("")
    os.chmod(file, mode)
    with pytest.raises(policy.RuleFileError, match="others may write"):
        load_operator_rules(file, tmp_path, tmp_path)
