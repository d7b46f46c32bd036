"""The table covers every attack, and its rendering says what was and was not proven."""

from __future__ import annotations

import pytest

from tests.escapes.attack import Attack, NotApplicable, NotStopped, Stopped
from tests.escapes.matrix import put_into, table
from tests.escapes.table import ATTACKS

LISTED = {f"A{number}" for number in range(1, 93)}


def test_every_attack_of_the_list_is_there_and_more():
    assert {attack.id.split()[0] for attack in ATTACKS} >= LISTED
    assert len([attack for attack in ATTACKS if attack.id.startswith("X")]) >= 15
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)


def test_hardly_any_is_not_applicable_in_tier_a():
    assert len([a for a in ATTACKS if isinstance(a.a, NotApplicable)]) <= 6


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_a_row_proves_what_it_claims(attack: Attack):
    assert attack.program or attack.scenario or isinstance(attack.a, NotApplicable)
    for column in ("A", "A without cgroup", "B"):
        expected = attack.expected(column)
        if isinstance(expected, NotStopped):
            assert attack.program
            assert expected.note
            assert expected.shows
        if isinstance(expected, Stopped) and not attack.scenario:
            assert expected.controls, f"{attack.id} has no positive control for {column}"
            assert expected.why or expected.after or expected.status


def test_what_was_not_proven_is_not_claimed():
    row = {"id": "A1", "title": "bomb", "column": "A", "outcome": "stopped", "note": "limit"}
    assert "stopped: limit" in table([{**row, "proven": True}])
    assert "unproven" in table([{**row, "proven": False}])
    later = {**row, "id": "A10", "column": "B", "outcome": "not stopped", "proven": True}
    lines = table([later, {**row, "proven": True}]).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| A1", "| A10"]
    assert "**not stopped**" in lines[3]
    assert "not run" in lines[2]


def test_the_table_is_put_between_its_marks():
    document = "before\n<!-- escapes:begin (x) -->\nold\n<!-- escapes:end -->\nafter\n"
    expected = "before\n<!-- escapes:begin (x) -->\nnew\n<!-- escapes:end -->\nafter\n"
    assert put_into(document, "new") == expected
    with pytest.raises(ValueError, match="no <!-- escapes:begin"):
        put_into("nothing", "new")
