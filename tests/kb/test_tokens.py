"""What a text costs a model, family by family."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.wordlist import read_rows
from kb import tokens
from kb.tokens import DEAREST, FAMILIES, UnknownFamilyError, count, estimate

TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)
"""Any text, lone surrogates included."""
NAMES = st.sampled_from(sorted(FAMILIES))
JOINT_TOKENS = 12
"""No more than a word, a number, marks and a line end can differ where two texts meet."""

CODE = '''def read_sizes(paths: list[Path]) -> dict[str, int]:
    """The size of each file."""
    return {str(path): path.stat().st_size for path in paths if path.is_file()}
'''
PROSE = "A budget must hold for any reader, so the estimate is that of the dearest family.\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_text_costs_nothing_and_any_other_something(family: str) -> None:
    assert estimate("", family) == 0
    assert all(estimate(text, family) for text in (" ", "a", "\n", "\0", "\ud800"))


# Ten times the text, as bpe-openai 0.1.4 (o200k_base) and ctok 1.3.0 count it.
@pytest.mark.parametrize(
    ("text", "family", "truth"),
    [
        (CODE, "o200k", 430),
        (CODE, "claude-3", 539),
        (CODE, "claude-5", 659),
        (PROSE, "o200k", 190),
        (PROSE, "claude-3", 199),
        (PROSE, "claude-5", 259),
    ],
)
def test_o12_an_estimate_is_near_what_the_tokenizer_counts(
    text: str, family: str, truth: int
) -> None:
    assert estimate(text * 10, family) == pytest.approx(truth, rel=0.15)


@given(TEXTS, TEXTS, NAMES)
def test_more_text_never_costs_less(text: str, more: str, family: str) -> None:
    assert estimate(text, family) <= estimate(text + more, family)


@given(TEXTS, TEXTS, NAMES)
def test_two_texts_cost_together_about_what_they_cost_apart(
    text: str, more: str, family: str
) -> None:
    apart = estimate(text, family) + estimate(more, family)
    assert abs(estimate(text + more, family) - apart) <= JOINT_TOKENS


@given(TEXTS, NAMES)
def test_any_text_costs_a_whole_number_of_tokens(text: str, family: str) -> None:
    assert isinstance(estimate(text, family), int)
    assert (estimate(text, family) > 0) == bool(text)


@pytest.mark.parametrize("family", ["", "gpt-2", "CLAUDE-5"])
def test_an_unknown_family_is_an_error_that_names_the_known(family: str) -> None:
    with pytest.raises(UnknownFamilyError) as caught:
        estimate("text", family)
    assert isinstance(caught.value, ValueError)
    assert all(name in str(caught.value) for name in (family, *FAMILIES))


@pytest.mark.parametrize(
    "text", [CODE, PROSE, PROSE.upper(), "naïve café\n", "日本語の文章", "한국어"]
)
def test_the_dearest_family_is_dearest(text: str) -> None:
    assert estimate(text, DEAREST) == max(estimate(text, family) for family in FAMILIES)


def test_no_coefficient_is_negative_and_each_has_a_count() -> None:
    for row in FAMILIES.values():
        assert min(row) >= 0
        assert len(row) == len(count(b""))


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("two words", {"words": 2, "word_fives": 1}),
        ("readSizes", {"words": 1, "word_fives": 1, "capitals": 1, "capitalized": 1}),
        ("12345 1", {"numbers": 2, "number_threes": 1}),
        ("a -> [b]", {"words": 2, "marks": 3, "mark_pairs": 1}),
        ("__x", {"underscores": 2, "words": 1}),
        ("\ta\n  b", {"words": 2, "newlines": 1, "indents": 2, "space_pairs": 1}),
        ("ï Ж ก — 字 한 🙂", dict.fromkeys(
            ("accented", "two_byte", "south_asian", "symbols", "cjk", "hangul", "rare"), 1)),
        ("\uff0c", {"cjk": 1}),
        (string.whitespace.replace("\n", ""), {"indents": 1, "space_pairs": 2}),
    ],
)  # fmt: skip
def test_each_thing_in_a_text_is_counted(text: str, counted: dict[str, int]) -> None:
    names = [name for name, *_ in read_rows(tokens.__file__, "tokens.txt")[1:]]
    found = dict(zip(names, count(text.encode()), strict=True))
    assert {name: number for name, number in found.items() if number} == counted
