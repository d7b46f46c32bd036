"""Estimates of tokens, by family."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.tokens import DEAREST, FAMILIES, estimate, estimate_tokens

PROGRAM = "def getValue(self, name):\n    return self.values[name] + 12345\n" * 20
# What real tokenizers count: o200k by bpe-openai, Claude's by ctok's reconstruction.
SAMPLES = {"program": PROGRAM, "prose": "The cart of a customer knows all discounts. " * 30}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_estimate_is_none_for_nothing_and_one_for_little(family):
    assert estimate("", family) == 0
    assert estimate(" ", family) >= 1
    assert estimate("a", family) >= 1


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES)
def test_families_differ_in_their_known_order(text):
    counts = [estimate(text, family) for family in ("o200k", "claude-3", "claude-5")]
    assert counts == sorted(counts)
    assert counts[-1] == max(estimate(text, family) for family in FAMILIES)
    assert DEAREST == "claude-5"


def test_an_unknown_family_is_refused():
    with pytest.raises(KeyError):
        estimate("a", "none")


@settings(max_examples=200, deadline=None)
@given(st.text(), st.sampled_from(sorted(FAMILIES)))
def test_any_text_is_estimated(text, family):
    assert estimate(text, family) >= (1 if text else 0)


@given(st.integers(1, 50))
def test_twice_a_text_of_whole_lines_takes_twice_the_tokens(times):
    whole = estimate(PROGRAM * times, DEAREST)
    assert abs(whole - times * estimate(PROGRAM, DEAREST)) <= 2 * times


def test_bytes_over_four_stay_the_smallest_claim():
    assert estimate_tokens("abcde") == 2
    assert estimate_tokens(b"") == 0
