"""Words and lines that two texts share (C14)."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.pages import word_hunks as module
from memory.pages.word_hunks import match_each


def word_hunks(old, new):
    return module.word_hunks([(old, new)])[0]


EXAMPLES = settings.default.max_examples // 4  # each starts processes; with --long there are more
CASES = (
    ("", "", []),
    ("a", "", ["-a"]),
    ("", "a", ["+a"]),
    ("a b c", "a x c", ["=a ", "-b ", "+x ", "=c"]),
    ("a b\nc", "a\nb d", ["=a\nb ", "-c", "+d"]),
    ("a b c d", "c d a b", ["-a b ", "=c d ", "+a b"]),
    ("\u00e9 a", "e\u0301 b", ["=e\u0301 ", "-a", "+b"]),
    ("再送する", "再度する", ["=再", "-送", "+度", "=する"]),
    ("a b c\n", "a b\nc\n", ["=a b\nc\n"]),
    ("  a b", "a b", ["=a b"]),
    (
        "a b c\n\n  d e f",
        "a  b x\nd y f",
        ["=a  b ", "-c\n\n  ", "+x\n", "=d ", "-e ", "+y ", "=f"],
    ),
    (
        "It is so. One two.",
        "It is so. Two one two.",
        ["=It is so. ", "-One ", "+Two one ", "=two."],
    ),
    ("第一。第二。", "第一。第三。", ["=第一。第", "-二", "+三", "=。"]),
)


@pytest.mark.parametrize(("old", "new", "hunks"), CASES)
def test_c14_hunks_are_runs_of_words(old, new, hunks):
    assert [mark + text for mark, text in word_hunks(old, new)] == hunks


ITEMS = st.lists(st.sampled_from("abcdef"), max_size=30)


@settings(max_examples=EXAMPLES)
@given(ITEMS, ITEMS)
def test_c14_what_is_shared_is_in_both_in_order(old, new):
    at = other = 0
    for run in match_each([(old, new)])[0]:
        assert run.a >= at
        assert run.b >= other
        at, other = run.a + run.size, run.b + run.size
        assert old[run.a : at] == new[run.b : other]
    assert [run.size for run in match_each([(old, old)])[0]] == [len(old)] * bool(old)


@settings(max_examples=EXAMPLES)
@given(ITEMS, ITEMS)
def test_c14_the_new_text_stands_in_its_hunks(old, new):
    before, after = "".join(f"{x} " for x in old), "".join(f"{x} " for x in new)
    hunks = word_hunks(before, after)
    assert "".join(text for mark, text in hunks if mark != "-") == after
    assert "".join(text for mark, text in hunks if mark != "+").split() == old


SIGNS = [
    "a",
    "b",
    "The retries back off by a second",
    ".",
    "\u3002",
    "\u518d",
    "e\u0301",
    "\u00e9",
    " ",
]
TEXTS = st.lists(st.sampled_from([*SIGNS, "  ", "\n", "\n\n", "\n    ", "\t"]), max_size=24).map(
    "".join
)


def signs_of(text: str) -> str:
    return unicodedata.normalize("NFC", "".join(text.split()))


@settings(max_examples=EXAMPLES)
@given(TEXTS, TEXTS)
@example("a", "a\u0301")
def test_c14_hunks_turn_the_old_text_into_the_new_one(old, new):
    hunks = word_hunks(old, new)
    assert "".join(text for mark, text in hunks if mark != "-") == new
    assert signs_of("".join(text for mark, text in hunks if mark != "+")) == signs_of(old)
    assert all(one[0] != other[0] for one, other in itertools.pairwise(hunks))


def test_c14_texts_that_take_too_long_differ_as_a_whole(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_MAX", 0)
    assert word_hunks("a b\nc d", "a x\nc y") == (("-", "a b\nc d"), ("+", "a x\nc y"))
    assert word_hunks("a b", "a b\n") == (("=", "a b\n"),)


@pytest.mark.parametrize("same", ["a b", "-a\n+b\n@@ -1 +1 @@", "diff --git x/7 y/7\n\0\ud800"])
def test_no_text_is_read_as_a_mark_of_the_comparison(same):
    assert word_hunks(f"{same}\nold", f"{same}\nnew") == (
        ("=", f"{same}\n"),
        ("-", "old"),
        ("+", "new"),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b " * 100000, "b c a " * 70000),
        ("a" * 500000, "b" * 500000),
        (" ".join(map(str, range(100000))), " ".join(map(str, range(100000, 0, -1)))),
    ],
)
def test_texts_that_are_rewritten_whole_are_bounded_in_work(old, new):
    hunks = word_hunks(old, new)
    assert "".join(text for mark, text in hunks if mark != "-") == new
