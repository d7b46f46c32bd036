# ruff: noqa: E501, RUF001 - a table, and texts of other scripts
"""What differs between two versions of a page, case by case (C14, C15)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.pages.section_diff import compare_texts

EXAMPLES = settings.default.max_examples // 4  # each starts processes; with --long there are more


def page(*parts: str, fields: str = "a: 1") -> str:
    return f"---\n{fields}\n---\n" + "".join(parts)


def sec(heading: str, body: str) -> str:
    return f"## {heading}\n\n{body}\n\n"


def shared(percent: int) -> tuple[str, str]:
    """Two texts that share so much of 100 words."""
    both = " ".join(f"w{at}" for at in range(percent))
    return both, both + "".join(f" x{at}" for at in range(100 - percent))


LONG = "one two three four five six seven eight nine ten"
NEAR = LONG.replace("ten", "eleven")
JA = "本節では再試行の方針を説明する。失敗した要求は指数的に待って再送される。"

# name, old, new, what is expected of each section: heading, marks
CASES = {
    "same": (sec("A", "a"), sec("A", "a"), ["= A"]),
    "added": (sec("A", "a"), sec("A", "a") + sec("B", "b"), ["= A", "+ B"]),
    "added first": (sec("A", "a"), sec("B", "b") + sec("A", "a"), ["+ B", "= A"]),
    "removed": (sec("A", "a") + sec("B", "b"), sec("B", "b"), ["= B", "- A"]),
    "modified": (sec("A", "a b"), sec("A", "a c"), ["~ A"]),
    "rewritten": (sec("A", LONG), sec("A", "other"), ["~ A"]),
    "renamed": (sec("A", LONG), sec("B", LONG), ["~> B<A"]),
    "renamed and edited": (sec("A", LONG), sec("B", NEAR), ["~> B<A"]),
    "70 %": (sec("A", shared(70)[0]), sec("B", shared(70)[1]), ["~> B<A"]),
    "69 %": (sec("A", shared(69)[0]), sec("B", shared(69)[1]), ["+ B", "- A"]),
    "two renames crossed": (
        sec("A", LONG) + sec("B", "the quick brown fox jumps"),
        sec("C", "the quick brown fox jumps") + sec("D", LONG),
        ["~> C<B m", "~> D<A"],
    ),
    "the better of two": (
        sec("A", NEAR) + sec("B", LONG),
        sec("C", LONG),
        ["~> C<B", "- A"],
    ),
    "names swapped": (
        sec("A", LONG) + sec("B", "fox"),
        sec("B", LONG) + sec("A", "fox"),
        ["~ B m", "~ A"],
    ),
    "moved": (
        sec("A", "a") + sec("B", "b") + sec("C", "c"),
        sec("C", "c") + sec("A", "a") + sec("B", "b"),
        ["= C m", "= A", "= B"],
    ),
    "moved and modified": (
        sec("A", "a") + sec("B", "b") + sec("C", "c"),
        sec("C", "x") + sec("A", "a") + sec("B", "b"),
        ["~ C m", "= A", "= B"],
    ),
    "added before is not moved": (sec("A", "a"), sec("X", "x") + sec("A", "a"), ["+ X", "= A"]),
    "reflowed": (sec("A", "a b\nc"), sec("A", "a\nb c"), ["= A r"]),
    "reflowed and renamed": (sec("A", "a b\nc"), sec("B", "a\nb c"), ["~> B<A r"]),
    "blank lines after": (sec("A", "a"), "## A\na\n\n\n\n", ["= A"]),
    "line ends": (sec("A", "a\nb"), sec("A", "a\nb").replace("\n", "\r\n"), ["= A"]),
    "old line ends": (sec("A", "a\nb"), sec("A", "a\nb").replace("\n", "\r"), ["= A"]),
    "fence": (sec("A", "```\n## X\n```"), sec("A", "```\n## Y\n```"), ["~ A"]),
    "fence unclosed": (sec("A", "```\n## X\n"), sec("A", "```\n## Y\n"), ["~ A"]),
    "setext": ("A\n---\na\n", "## A\na\n", ["= A"]),
    "setext of two lines": ("A\nB\n---\na\n", "## A B\na\n", ["= A B"]),
    "closing marks": ("## A ##\na\n", "##   A\na\n", ["= A"]),
    "indented code": ("## A\n\n    ## X\n", "## A\n\n    ## Y\n", ["~ A"]),
    "html": ("## A\n<!--\n## X\n-->\n", "## A\n<!--\n## Y\n-->\n", ["~ A"]),
    "list": ("## A\n- ## X\n", "## A\n- ## Y\n", ["~ A"]),
    "quotation": ("## A\n> ## X\n", "## A\n> ## Y\n", ["~ A"]),
    "level three": (sec("A", "### X"), sec("A", "### Y"), ["~ A"]),
    "duplicates": (
        sec("A", "a") + sec("A", "b"),
        sec("A", "a") + sec("A", "c"),
        ["= A", "~ A"],
    ),
    "a duplicate more": (sec("A", "a"), sec("A", "a") + sec("A", "b"), ["= A", "+ A"]),
    "a duplicate less": (sec("A", "a") + sec("A", "b"), sec("A", "a"), ["= A", "- A"]),
    "both empty": ("## A\n", "## B\n", ["~> B<A"]),
    "one empty": ("## A\n", sec("B", "b"), ["+ B", "- A"]),
    "emptied": (sec("A", "a"), "## A\n", ["~ A"]),
    "no heading's text": ("##\na\n", "##\nb\n", ["~ "]),
    "case and punctuation": (sec("A", "One, two. (three)"), sec("B", "one TWO three!"), ["~> B<A"]),
    "unspaced script": (sec("方針", JA), sec("再試行", JA.replace("指数的に", "")), ["~> 再試行<方針"]),
    "other unspaced text": (sec("方針", JA), sec("費用", "料金は毎月請求される。"), ["+ 費用", "- 方針"]),
    "cyrillic": (sec("А", "Один два три"), sec("Б", "один ДВА три"), ["~> Б<А"]),
    "arabic": (sec("ا", "واحد اثنان ثلاثة"), sec("ب", "واحد اثنان ثلاثة"), ["~> ب<ا"]),
    "accents": (sec("Caf\u00e9", "\u00e9t\u00e9"), sec("Cafe\u0301", "e\u0301te\u0301"), ["= Cafe\u0301"]),
    "accents, renamed": (sec("A", "\u00e9t\u00e9 b"), sec("B", "e\u0301te\u0301 b"), ["~> B<A"]),
    "all gone": (sec("A", "a"), "", ["- A"]),
}  # fmt: skip


def marks(old: str | None, new: str | None) -> list[str]:
    signs = {"unchanged": "=", "added": "+", "removed": "-", "modified": "~", "renamed": "~>"}
    return [
        f"{signs[one.status]} {one.heading}"
        + (f"<{one.old_heading}" if one.old_heading else "")
        + (" m" if one.is_moved else "")
        + (" r" if one.is_reflowed else "")
        for one in compare_texts("s", old, new).sections
    ]


@pytest.mark.parametrize("name", CASES)
def test_c14_each_section_has_the_status_that_a_reader_expects(name):
    old, new, expected = CASES[name]
    assert marks(page(old), page(new)) == expected
    assert marks(old, new) == expected


FIELDS = {
    "scalar": ("a: 1", "a: 2", [("a", "1", "2", (), ())]),
    "text and number": ("x: 1", "x: '1'", [("x", 1, "1", (), ())]),
    "known text": ("author: 1", "author: '1'", []),
    "date": ("created: 2026-01-02", "created: 2026-01-03", [("created", "2026-01-02", "2026-01-03", (), ())]),
    "list as set": ("tags: [a, b]", "tags: [b, c]", [("tags", None, None, ("c",), ("a",))]),
    "order": ("tags: [a, b]", "tags: [b, a, a]", []),
    "list new": ("{}", "tags: [a]", [("tags", None, None, ("a",), ())]),
    "list gone": ("x: [1]", "{}", [("x", None, None, (), (1,))]),
    "list to scalar": ("x: [1]", "x: 1", [("x", [1], 1, (), ())]),
    "mapping": ("x: {a: 1}", "x: {a: 2}", [("x", {"a": 1}, {"a": 2}, (), ())]),
    "mapping's order": ("x: {a: 1, b: 2}", "x: {b: 2, a: 1}", []),
    "field new": ("{}", "agent: c", [("agent", None, "c", (), ())]),
    "order of fields": ("{}", "x: 1\nagent: c", [("agent", None, "c", (), ()), ("x", None, 1, (), ())]),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_c14_fields_are_old_and_new_and_lists_are_sets(name):
    old, new, expected = FIELDS[name]
    if name == "scalar":
        expected = [("a", 1, 2, (), ())]
    diff = compare_texts("s", page(fields=old), page(fields=new))
    assert [(f.field, f.old, f.new, f.added, f.removed) for f in diff.fields] == expected
    assert not diff.parse_fallback


@pytest.mark.parametrize(
    "bad", ["---\na: [\n---\n## A\n", "---\na: 1\n## A\n", "---\na: 1\na: 2\n---\n"]
)
def test_c15_fields_that_cannot_be_read_let_the_page_be_compared_whole(bad):
    for old, new in ((bad, page(sec("A", "a"))), (page(sec("A", "a")), bad)):
        diff = compare_texts("s", old, new)
        assert diff.parse_fallback
        assert diff.preamble
        assert diff.preamble.status == "modified"
        assert (diff.fields, diff.sections) == ((), ())
    assert compare_texts("s", bad, bad).preamble.status == "unchanged"


@pytest.mark.parametrize("empty", [None, ""])
def test_c15_a_missing_side_is_an_empty_page(empty):
    text = page("intro\n", sec("A", "a"), fields="agent: x\ntags: [t]")
    came, gone = compare_texts("s", empty, text), compare_texts("s", text, empty)
    assert [one.status for one in came.sections] == ["added"]
    assert [one.status for one in gone.sections] == ["removed"]
    assert (came.preamble.status, gone.preamble.status) == ("added", "removed")
    assert (came.fields[0].new, gone.fields[0].old) == ("x", "x")
    assert not came.parse_fallback
    assert compare_texts("s", empty, empty).preamble is None


@pytest.mark.parametrize(
    ("old", "new", "is_rename"),
    [
        ("", "", True),  # all of nothing
        ("a", "", False),
        ("", "a", False),
        ("a b", "B, a!", True),  # case and outer punctuation do not count
        ("a b c", "a b d", False),  # a half
        (*shared(70), True),
        (*shared(69), False),
    ],
)
def test_c15_a_rename_shares_at_least_seven_tenths_of_the_words(old, new, is_rename):
    found = compare_texts("s", page(sec("A", old)), page(sec("B", new))).sections
    assert ("renamed" in {one.status for one in found}) is is_rename
    assert len(found) == (1 if is_rename else 2)


PARTS = st.lists(
    st.sampled_from([sec("A", LONG), sec("A", "x"), sec("B", LONG), "## C\n", "pre\n", sec("D", NEAR)]),
    max_size=7,
).map("".join)  # fmt: skip
ANY = st.text(st.sampled_from("## a\n-b\u00e9e\u0301\r`"), max_size=60)


@settings(max_examples=EXAMPLES)
@given(PARTS | ANY)
@example("##")  # a heading without words, and nothing below it
@example("##\n##\n")
def test_c14_a_page_does_not_differ_from_itself(text):
    for one in (text, page(text), f"---\n{text}"):
        diff = compare_texts("s", one, one)
        changes = [*diff.sections, *([diff.preamble] if diff.preamble else [])]
        assert {c.status for c in changes} <= {"unchanged"}
        assert not any(c.is_moved or c.is_reflowed or c.hunks for c in changes)
        assert diff.fields == ()


@settings(max_examples=EXAMPLES)
@given(PARTS, PARTS)
def test_c14_every_section_of_both_sides_is_named_once(old, new):
    there, back = compare_texts("s", old, new).sections, compare_texts("s", new, old).sections
    swap = {"added": "removed", "removed": "added"}
    names = sorted(swap.get(c.status, c.status) + c.heading for c in there if c.status in swap)
    assert names == sorted(c.status + c.heading for c in back if c.status in swap)
    for change in there:
        news = "".join(text for mark, text in change.hunks if mark != "-")
        assert not change.hunks or news.split() == change.new.split()


def test_c15_many_small_sections_are_bounded_in_work():
    old = "".join(
        sec(f"O{at}", f"the same ten words here and one more {at}") for at in range(10_000)
    )
    new = "".join(
        sec(f"N{at}", f"the same ten words here and one other {at}") for at in range(10_000)
    )
    found = compare_texts("s", old, new).sections
    assert [one.status for one in found].count("renamed") == 10_000
