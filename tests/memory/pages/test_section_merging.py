"""Two versions of a page become one, but for what both changed (C13)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.pages.section_merging import merge_sections

EXAMPLES = settings.default.max_examples // 4  # each starts processes; with --long there are more
HEAD = "---\nslug: a\nupdated: 2026-01-01\ntags: [a, b]\n---\n"


def sec(heading: str, body: str) -> str:
    return f"## {heading}\n\n{body}\n\n"


A, B, C = sec("A", "one"), sec("B", "two"), sec("C", "three")
BASE = HEAD + "intro\n\n" + A + B + C


def test_c13_changes_of_different_sections_are_both_there():
    mine = BASE.replace("one", "one of mine") + sec("M", "new")
    theirs = BASE.replace("three", "three of theirs").replace("intro", "hello")
    merged = merge_sections(BASE, mine, theirs)
    assert merged[1] == ()
    for text in ("one of mine", "three of theirs", "hello", "## M\n\nnew\n"):
        assert text in merged[0]
    assert merge_sections(BASE, theirs, mine)[0] == merged[0]


def test_c13_a_section_that_both_changed_is_a_conflict_and_the_rest_is_merged():
    mine = BASE.replace("one", "mine").replace("two", "zwei")
    merged = merge_sections(BASE, mine, BASE.replace("one", "theirs").replace("three", "drei"))
    (conflict,) = merged[1]
    assert conflict[0] == "A"
    assert [*conflict[1]] == ["one\n", "mine\n", "theirs\n"]
    assert all(one in merged[0] for one in ("zwei", "drei", "mine", "theirs", "<<<<<<<"))


def test_c13_fields_are_merged_as_sets_and_scalars():
    mine = BASE.replace("[a, b]", "[b, m]").replace("01-01", "01-02")
    theirs = BASE.replace("[a, b]", "[a, b, t]").replace("01-01", "01-03")
    merged = merge_sections(BASE, mine, theirs)
    assert merged[1] == ()
    assert "tags:\n- b\n- m\n- t\n" in merged[0]
    assert "updated: 2026-01-03\n" in merged[0]
    both = merge_sections(
        BASE, BASE.replace("slug: a", "slug: m"), BASE.replace("slug: a", "slug: t")
    )
    assert [(field, mine, theirs) for field, (_, mine, theirs) in both[1]] == [
        ("field slug", "slug: m", "slug: t")
    ]


def test_c13_deleting_renaming_and_moving_go_with_other_changes():
    theirs = BASE.replace("three", "drei")
    gone = merge_sections(BASE, BASE.replace(B, ""), theirs)
    assert (gone[1], "## B" in gone[0], "drei" in gone[0]) == ((), False, True)
    renamed = merge_sections(BASE, BASE.replace("## C", "## See"), theirs)
    assert "## C" not in renamed[0] or renamed[1]
    moved = merge_sections(BASE, HEAD + "intro\n\n" + C + A + B, theirs)
    assert moved[1] == (("C", (C, "", C.replace("three", "drei"))),)
    assert moved[0].index("three") < moved[0].index("one") < moved[0].index("drei")
    ((lost, (_, mine, _)),) = merge_sections(BASE, BASE.replace(C, ""), theirs)[1]
    assert (lost, mine) == ("C", "")


def test_c13_what_one_side_leaves_open_is_told():
    merged = merge_sections(BASE, BASE.replace("three", "```\nthree"), BASE + sec("T", "t"))
    assert merged[1]
    assert merge_sections("---\na: [\n---\n", "x", "y")[1]


def test_c13_line_ends_that_one_side_changed_are_no_conflict():
    merged = merge_sections(BASE, BASE.replace("\n", "\r\n"), BASE.replace("one", "eins"))
    assert merged[1] == ()
    assert "## A\r\n\r\neins\r\n" in merged[0]


PARTS = st.lists(
    st.sampled_from(
        [
            A,
            B,
            C,
            sec("A", "x"),
            sec("B", "y\nz"),
            sec("D", "two"),
            "D\n---\n",
            "p\n",
            "```\n",
            "## C",
        ]
    ),
    max_size=6,
).map("".join)
TEXTS = st.tuples(st.sampled_from(["", HEAD, HEAD.replace("a, b", "c"), "---\nx: 1\n"]), PARTS).map(
    "".join
)


@settings(max_examples=EXAMPLES)
@given(TEXTS, TEXTS)
def test_c13_what_one_side_left_alone_is_the_other_sides(base, text):
    assert merge_sections(base, text, base)[0] == text
    assert merge_sections(base, base, text)[0] == text
    assert merge_sections(base, text, text) == merge_sections(base, text, base)


@settings(max_examples=EXAMPLES)
@given(TEXTS, TEXTS, TEXTS)
def test_c13_a_merge_without_conflict_is_the_same_from_both_sides(base, mine, theirs):
    there, back = merge_sections(base, mine, theirs), merge_sections(base, theirs, mine)
    assert bool(there[1]) == bool(back[1])
    if not there[1]:
        assert there[0] == back[0]
