"""When a push pauses (C6): every combination of its conditions."""

from __future__ import annotations

from itertools import product

import pytest

from memory.pages.buffer_files import Buffer, TurnRecord
from memory.pages.model import PAGE_TYPES
from memory.pages.pushing import needs_distilling

NOW = 1_700_000_000.0
SIX_HOURS = 6 * 3600.0
TURNS = (TurnRecord(1, user="Why?"),)


@pytest.mark.parametrize(
    ("knowledge", "fresh", "distill_done", "no_distill", "is_disabled"),
    list(product([False, True], repeat=5)),
)
def test_c6_a_push_pauses_under_one_of_thirty_two_combinations(
    knowledge, fresh, distill_done, no_distill, is_disabled
):
    pauses = needs_distilling(
        ["entity", "concept"] if knowledge else ["entity", "source"],
        Buffer("s", TURNS, at=NOW - 60) if fresh else None,
        distill_done=distill_done, no_distill=no_distill, is_disabled=is_disabled, now=NOW,
    )  # fmt: skip
    told = (knowledge, fresh, distill_done, no_distill, is_disabled)
    assert pauses is (told == (True, True, False, False, False))


@pytest.mark.parametrize(
    ("buffer", "pauses"),
    [
        (None, False),
        (Buffer("s", (), at=NOW), False),
        (Buffer("s", TURNS, at=NOW - SIX_HOURS + 1), True),
        (Buffer("s", TURNS, at=NOW - SIX_HOURS), False),
    ],
)
def test_c6_an_empty_or_old_buffer_is_as_none(buffer, pauses):
    assert pauses is needs_distilling(
        ["analysis"], buffer, distill_done=False, no_distill=False, is_disabled=False, now=NOW
    )


def test_c6_concepts_and_analyses_alone_ask_for_their_source():
    asking = [
        one
        for one in PAGE_TYPES
        if needs_distilling(
            [one], Buffer("s", TURNS, at=NOW), distill_done=False, no_distill=False,
            is_disabled=False, now=NOW,
        )
    ]  # fmt: skip
    assert sorted(asking) == ["analysis", "concept"]
