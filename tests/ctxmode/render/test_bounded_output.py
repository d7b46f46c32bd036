"""A budget bounds what a verb prints, whatever it prints."""

from __future__ import annotations

import random

import pytest

from ctxmode.errors import UsageError
from ctxmode.render.terminal_output import LEAST_BYTES, BoundedBytes, bound_output

LINES = "".join(f"line {n} of several\n" for n in range(500))


def bounded(text: str, budget: int, piece: int = 7) -> str:
    data = text.encode()
    out = BoundedBytes(budget)
    for at in range(0, len(data), piece):
        out.write(data[at : at + piece])
    return out.build().decode()


def test_what_fits_is_as_it_was() -> None:
    assert bounded(LINES, len(LINES)) == LINES


def test_else_both_ends_and_how_much_is_between() -> None:
    shown = bounded(LINES, 1000)
    assert len(shown) <= 1000
    head, _, tail = shown.partition("[")
    assert LINES.startswith(head)
    left_out, _, tail = tail.partition("\n")
    assert LINES.endswith(tail)
    assert "--budget is 1,000" in left_out
    assert int(left_out.split()[0].replace(",", "")) == len(LINES) - len(head) - len(tail)


@pytest.mark.parametrize("seed", range(60))
def test_never_more_and_never_half_a_character(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice("aé€😀\n ") for _ in range(chance.randrange(4000)))
    budget = chance.randrange(LEAST_BYTES, 3000)
    shown = bounded(text, budget, piece=chance.randrange(1, 500))
    assert len(shown.encode()) <= budget
    assert "\ufffd" not in shown


def test_the_block_prints_when_it_ends(capsysbinary) -> None:
    with bound_output(300, is_json=False):
        print(LINES)
    assert len(capsysbinary.readouterr().out) <= 300


def test_half_a_document_is_not_printed(capsysbinary) -> None:
    with pytest.raises(UsageError, match="over the budget"), bound_output(300, is_json=True):
        print(LINES)
    assert capsysbinary.readouterr().out == b""
    with bound_output(300, is_json=True):
        print("{}")
    assert capsysbinary.readouterr().out == b"{}\n"


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(UsageError, match="budget"), bound_output(LEAST_BYTES - 1, is_json=False):
        pass
