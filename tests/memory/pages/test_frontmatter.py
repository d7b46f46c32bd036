"""A page's fields are read as they are written, kept, and refused with the line that is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInputError
from memory.pages.field_yaml import DEPTH_MAX
from memory.pages.frontmatter import FIELD_NAMES, parse_page, render_page, set_parent, try_parse
from memory.pages.model import FRONTMATTER_BYTES_MAX, PAGE_TYPES, SCHEMA, Frontmatter, Page

HEAD = "schema: ctx.page.v1\nslug: a\ntype: concept\nauthor: dana\ncreated: 2026-01-02\n"


def page(more: str = "", body: str = "") -> str:
    return f"---\n{HEAD}{more}---\n{body}"


FULL = Page(
    Frontmatter(
        schema=SCHEMA,
        slug="payments-webhooks",
        type="concept",
        author="dana",
        agent="claude-code",
        created="2026-01-02T03:04:05Z",
        updated="2026-01-03",
        parent_sha="3f9a1c2",
        sources=("one", "two"),
        related=("three",),
        tags=("b", "a", "2026-01-02", "yes", "1.10"),
        reasoning_summary="why: because",
        unknown={"zeta": 1, "alpha": {"b": [1, 2.5, None, True, "x"], "a": "1"}, "day": "2026-1-2"},
    ),
    "\n# Title\n",
)


def test_c10_a_page_has_its_fields_in_order_and_unknown_ones_last():
    text = render_page(FULL)
    lines = [line.split(":")[0] for line in text.split("\n") if ":" in line and line[0] != " "]
    assert lines == [*FIELD_NAMES, "zeta", "alpha", "day"]
    assert "created: 2026-01-02T03:04:05Z\nupdated: 2026-01-03\n" in text
    again = parse_page(text)
    assert again == FULL
    assert [*again.front.unknown] == ["zeta", "alpha", "day"]


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ("updated: 2026-01-02\n", "updated", "2026-01-02"),
        ("updated: 2026-01-02 10:00:00\n", "updated", "2026-01-02 10:00:00"),
        ("agent: 007\n", "agent", "007"),
        ("agent: no\n", "agent", "no"),
        ("agent: ~\n", "agent", ""),
        ("agent: 'null'\n", "agent", "null"),
        ("agent: 12:30\n", "agent", "12:30"),
        ("tags:\n", "tags", ()),
        ("tags: []\n", "tags", ()),
        ("tags: [1.10, on, 0x1F, '']\n", "tags", ("1.10", "on", "0x1F", "")),
        ("tags:\n- b\n- a\n- b\n", "tags", ("b", "a", "b")),
        ("reasoning_summary: |\n  one\n\n  two\n", "reasoning_summary", "one\n\ntwo\n"),
        ("reasoning_summary: >-\n  one\n  two\n", "reasoning_summary", "one two"),
        ("reasoning_summary: 'it''s: #1'\n", "reasoning_summary", "it's: #1"),
        ("\n# a remark\nagent: x # why\n", "agent", "x"),
    ],
)
def test_c10_a_known_field_is_the_text_that_is_written(more, field, value):
    read = parse_page(page(more))
    assert getattr(read.front, field) == value
    assert parse_page(render_page(read)) == read


@pytest.mark.parametrize(
    ("written", "value"),
    [("1", 1), ("-1", -1), ("0", 0), ("1.5", 1.5), ("true", True), ("null", None), ("", None)]
    + [(text, text) for text in ("01", "1.10", "1e5", "0o7", "1_000", "12:30", "yes", ".nan", "+1")]
    + [("'1'", "1"), ("2026-01-02", "2026-01-02"), ("[1, a, [b]]", [1, "a", ["b"]]), ("{}", {})]
    + [
        ("{1: a, <<: b}", {"1": "a", "<<": "b"}),
        ("9" * 5000, "9" * 5000),
        ("=", "="),
        ("-0", "-0"),
    ],
)
def test_c10_an_unknown_field_keeps_its_value(written, value):
    read = parse_page(page(f"mine: {written}\n"))
    assert read.front.unknown == {"mine": value}
    assert type(read.front.unknown["mine"]) is type(value)
    assert parse_page(render_page(read)) == read


REFUSED = (
    ("tags: x\n", "`tags` (line 7) must be a list, not a text"),
    ("tags: {a: b}\n", "`tags` (line 7) must be a list, not a mapping"),
    ("tags:\n- a\n- [b]\n", "`tags` (line 9) must be a list of texts"),
    ("tags: [a, null]\n", "`tags` (line 7) must be a list of texts"),
    ("agent: [a]\n", "`agent` (line 7) must be a text, not a list"),
    ("\nagent: {a: b}\n", "`agent` (line 8) must be a text, not a mapping"),
    ("author: x\n", "line 7 of the page has 'author' again (first in line 5)"),
    ("x: {a: 1, a: 2}\n", "line 7 of the page has 'a' again (first in line 7)"),
    ("x: &a 1\n", "line 7 of the page has an anchor or alias (a)"),
    ("x: *a\n", "line 7 of the page has an anchor or alias (a)"),
    ("x: !!python/object:os.system 1\n", "line 7 of the page has a tag"),
    ("x: !mine 1\n", "line 7 of the page has a tag"),
    ("? [a]\n: b\n", "line 7 of the page has a name that is not a text"),
    ("--- \ttwo\n", "line 7 of the page begins a second document"),
    ("x: [\n", "of the page is not valid YAML"),
    ("x: a: b\n", "line 7 of the page is not valid YAML"),
    ("x: '\n", "of the page is not valid YAML"),
    ("\tx: 1\n", "line 7 of the page is not valid YAML"),
    ("x: \0\n", "of the page is not valid YAML"),
    ("x: \ud800\n", "has a lone surrogate"),
)


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_c10_what_is_wrong_is_refused_with_its_line(more, message):
    with pytest.raises(BadInputError) as caught:
        parse_page(page(more))
    assert message in caught.value.message
    assert caught.value.remedy
    assert try_parse(page(more)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 of the page must be `---`"),
        ("# Title\n", "line 1 of the page must be `---`"),
        ("\n" + page(), "line 1 of the page must be `---`"),
        ("---", "do not end"),
        (f"---\n{HEAD}", "do not end"),
        (f"---\n{HEAD}----\n", "do not end"),
        ("---\n- a\n---\n", "line 2 of the page must be `name: value`"),
        ("---\na\n---\n", "line 2 of the page must be `name: value`"),
        ("---\n---\n", "`schema` is missing; `slug` is missing; `type` is missing"),
        (page().replace("dana", "~"), "`author` is missing (line 5)"),
        (page().replace("2026-01-02", "''"), "`created` is missing (line 6)"),
        (page().replace("v1", "v2"), "`schema` (line 2) must be ctx.page.v1, not 'ctx.page.v2'"),
        (page().replace("concept", "idea"), "`type` (line 4) must be one of concept, entity"),
        (page().replace(": a\n", ": ../x\n"), "`slug` (line 3): invalid slug '../x'"),
        (
            page("tags: x\n").replace("dana", "[]"),
            "`author` (line 5) must be a text, not a list; `",
        ),
    ],
)
def test_c10_what_is_no_page_is_refused(text, message):
    with pytest.raises(BadInputError) as caught:
        parse_page(text)
    assert message in caught.value.message


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_c10_line_ends_and_a_byte_order_mark_are_tolerated_and_the_body_kept(end, mark):
    body = f"{end}# Title{end}{end}---{end}text\n\r\n\r\ufeff"
    text = mark + page("tags: [x]\nmine: y\n").replace("\n", end) + body
    read = parse_page(text)
    assert (read.front.tags, dict(read.front.unknown), read.body) == (("x",), {"mine": "y"}, body)
    assert parse_page(render_page(read)) == read


BOUND = FRONTMATTER_BYTES_MAX - len(HEAD) - len("x: \n")


@pytest.mark.parametrize(
    ("size", "is_taken"), [(BOUND, True), (BOUND + 1, False), (1 << 21, False)]
)
@pytest.mark.parametrize("char", ["x", "é"])
def test_c10_fields_are_bounded_in_bytes(size, is_taken, char):
    value = char * (size // len(char.encode())) + "x" * (size % len(char.encode()))
    assert (try_parse(page(f"x: {value}\n", "body")) is not None) == is_taken
    written = replace(FULL, front=replace(FULL.front, unknown={"x": "y" * FRONTMATTER_BYTES_MAX}))
    with pytest.raises(BadInputError, match="64 KiB"):
        render_page(written)


@pytest.mark.parametrize(
    "open_", ["[", "{", "{a: ", "- ", "? ", "a: ", '"', "&a ", "*a ", "!<", "%", "|\n"]
)
def test_text_that_nests_or_repeats_without_end_is_refused(open_):
    for count in (100, FRONTMATTER_BYTES_MAX // len(open_) - 1, 100_000):
        assert try_parse(f"---\n{open_ * count}\n---\n") is None
        with pytest.raises(BadInputError):
            parse_page(page(f"x: {open_ * count}\n"))


def test_nesting_is_bounded_in_both_directions():
    deep: object = "x"
    for _ in range(DEPTH_MAX - 1):
        deep = [deep]
    fits = replace(FULL, front=replace(FULL.front, unknown={"deep": deep}))
    assert parse_page(render_page(fits)) == fits
    endless: list[object] = []
    endless.append(endless)
    for bad in ([deep], endless, object(), {1: "a"}, float("nan"), "\ud800", b"x", 10**1000):
        with pytest.raises(BadInputError):
            render_page(replace(FULL, front=replace(FULL.front, unknown={"deep": bad})))


def test_a_known_name_is_no_unknown_field():
    with pytest.raises(BadInputError, match="`tags` is a known field"):
        render_page(replace(FULL, front=replace(FULL.front, unknown={"tags": "x"})))


ODD = "\n\r\t\0\x1b\x85\xa0\u2028\u2029\ufeff\ufffe\u200b"
ODD += ":#-'\"[]{}&*!|>%@`,? ~\\=<.0123456789yesnoe+_"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD), max_size=40)
SLUGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,30}", fullmatch=True)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
LISTS = st.lists(TEXTS, max_size=4).map(tuple)
FRONTS = st.builds(
    Frontmatter,
    schema=st.just(SCHEMA),
    slug=SLUGS,
    type=st.sampled_from(PAGE_TYPES),
    author=TEXTS.filter(bool),
    agent=TEXTS,
    created=TEXTS.filter(bool),
    updated=TEXTS,
    parent_sha=TEXTS,
    sources=LISTS,
    related=LISTS,
    tags=LISTS,
    reasoning_summary=TEXTS,
    unknown=st.dictionaries(TEXTS.filter(lambda one: one not in FIELD_NAMES), VALUES, max_size=4),
)


@given(st.builds(Page, front=FRONTS, body=TEXTS))
def test_c10_whatever_a_page_holds_it_is_read_as_it_was_written(written):
    read = parse_page(render_page(written))
    assert read == written
    assert [*read.front.unknown] == [*written.front.unknown]
    assert render_page(read) == render_page(written)


@given(st.text(st.sampled_from("---\n\r:[]{}&*!'\"#ab |>?%@\ud800\0\ufeff"), max_size=60))
def test_whatever_the_text_it_is_read_or_refused(text):
    for one in (text, f"---\n{text}\n---\n", page(text)):
        try_parse(one)


TRAPS = {
    "summary": {"reasoning_summary": "parent_sha: no\nupdated: no\nparent_sha: no"},
    "unusual": {"author": "a\x85\nparent_sha: no", "tags": ("parent_sha: no", "updated: no\n")},
    "unknown": {"unknown": {"x": {"parent_sha": "no", "updated": ["parent_sha: no"]}, "y\nz": 1}},
    "long": {"agent": "word " * 9000, "unknown": {"k" * 300: "---\n---\n"}},
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("parent", ["", "3f9a1c2"])
@pytest.mark.parametrize("updated", ["", "2026-01-03", "parent_sha: no\n", " x\x85y "])
def test_a_parent_is_set_in_the_text_as_rendering_the_page_anew_would(trap, parent, updated):
    front = replace(FULL.front, parent_sha=parent, updated=updated, **TRAPS[trap])
    old, sha = Page(front, "parent_sha: no\n---\nupdated: x\n"), "a1" * 20
    written = set_parent(render_page(old), sha)
    if written is None:
        assert not parent
        assert updated != "2026-01-03"
    else:
        assert written == render_page(replace(old, front=replace(front, parent_sha=sha)))
