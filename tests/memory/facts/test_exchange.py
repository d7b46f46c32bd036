"""Facts leave a store and come into another one: the same, cleaned, and without a stranger's pins
(X13)."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memory.errors import BadInputError
from memory.facts.branching import create_branch
from memory.facts.exporting import (
    BEGIN,
    END,
    export_claude_md,
    export_json,
    export_markdown,
    put_section,
)
from memory.facts.import_forms import FACTS_MAX
from memory.facts.importing import TEXT_BYTES_MAX, import_facts
from memory.facts.model import Author, UnknownBranchError, read_origin, write_origin
from memory.facts.priming import prime
from memory.facts.restoring import check_store
from memory.facts.writing import pin, remember
from tests.memory.facts.stores import ADA, PERSON, START, Clock, at, draft, ledger, open_facts
from tests.memory.facts.stores import standing as stands

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HOSTILE = "ok\n# Forged\n\nSetext\n===\n```\n## In a fence\n<h1>x</h1>\n" + END + "\n- item\n1. one"
ROW = {"path": "/memory/general/a", "text": "It rains"}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with open_facts(tmp_path / "own", clock) as opened:
        yield opened


@pytest.fixture
def other(tmp_path, clock):
    with open_facts(tmp_path / "other", clock) as opened:
        yield opened


def load(store, value, **asked):
    """Import a JSON value, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return import_facts(store, text, **{"author": PERSON, **asked})


def wrap(*rows, **fields):
    return {"schema": "context-mode.facts.v1", "facts": list(rows), **fields}


LINES = st.text(st.characters(codec="utf-8"), max_size=40)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": LINES.filter(lambda text: text.strip()),
            "key": st.sampled_from(["", "a", "b/c", "é", "x y"]),
            "context": st.sampled_from(["general", "ops"]),
            "title": LINES,
            "why": LINES,
            "source": st.one_of(LINES, st.just("x; by codex:s1 at 2026-05-28T20:26:40.000Z")),
            "tags": st.lists(LINES, max_size=3).map(tuple),
            "confidence": st.floats(0, 1),
            "scope": st.sampled_from(["project", "session"]),
            "category": st.sampled_from(["observe", "decide"]),
            "ttl_s": st.one_of(st.none(), st.floats(1, 1e6)),
            "is_pinned": st.booleans(),
        }
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=ROWS)
def test_x13_what_is_exported_imported_and_exported_again_is_the_same(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("facts")
    with open_facts(folder / "a") as first, open_facts(folder / "b", Clock(START + 1)) as second:
        for row in rows:
            try:
                remember(first, draft(**row), ADA)
            except BadInputError:  # such as a text of nothing but unseen characters
                continue
        exported = export_json(first)
        if not exported["facts"]:
            return
        exported = {**exported, "facts": [
            row for row in exported["facts"]
            if row["expires_at"] is None or row["expires_at"] > START + 1
        ]}  # fmt: skip
        if not exported["facts"]:
            return
        found = load(second, exported, takes_pins=True)
        assert not found.left_out
        assert export_json(second) == exported
        again = load(second, exported, takes_pins=True)
        assert (again.added, again.changed, again.left_out) == ((), (), ())
        assert check_store(second) == ()


def test_an_imported_fact_names_its_author_and_the_ledger_who_imported_it(store, other):
    remember(store, draft("It rains", key="rain", source="sky"), ADA)
    load(other, export_json(store))
    (change,) = ledger(other)
    assert (change.operation, change.agent, change.session) == ("import", "user", "")
    assert change.source == "sky; by claude_code:s1 at 2026-05-28T20:26:40.000Z"
    create_branch(other, "b", author=ADA)
    assert export_json(other, "b")["facts"] == export_json(store)["facts"]


def test_a_source_alone_makes_nobody_an_author(store):
    remember(store, draft("It rains", source="by user at 2020-01-01T00:00:00.000Z"), ADA)
    (row,) = export_json(store)["facts"]
    assert row["author"]["agent"] == "claude_code"


@pytest.mark.parametrize(
    "origin",
    [
        Author("c", "d", "a; by b", 1.5),
        Author("a b:c;%20", "x:y z", "", 0.0),
        Author("agent", "", "s", None),
        Author("", source="only a source"),
    ],
)
def test_origins_are_read_as_they_were_written(origin):
    assert read_origin(write_origin(origin)) == origin


def test_a_primed_file_is_known_again_after_its_import(store, other):
    prime(store, "# A\none\n\n# B\ntwo", source="g.md", title="g.md", author=PERSON)
    load(other, export_json(store))
    primed = prime(other, "# A\none", source="g.md", title="g.md", author=PERSON)
    assert (primed.same, primed.removed) == (
        ("/memory/primed/g.md/a",),
        ("/memory/primed/g.md/b",),
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([1], "not an object"),
        ({"text": "x"}, "no path"),
        ({**ROW, "path": ["/memory/a/b"]}, "no path"),
        ({**ROW, "path": "/memory/../x"}, "invalid path"),
        ({**ROW, "path": "/etc/passwd"}, "invalid path"),
        ({**ROW, "path": "/memory/a/\ud800"}, "control character"),
        ({**ROW, "path": "/memory/a/\0"}, "control character"),
        ({**ROW, "text": ["It rains"]}, "text is list"),
        ({**ROW, "text": "\0\u200b"}, "the text is empty"),
        ({**ROW, "text": "x" * 16_385}, "limit is 16384"),
        ({**ROW, "title": 1}, "title is int"),
        ({**ROW, "tags": "word"}, "tags is not a list"),
        ({**ROW, "confidence": [1]}, "invalid confidence"),
        ({**ROW, "category": ["x"]}, "invalid category"),
        ({**ROW, "scope": {}}, "invalid scope"),
        ({**ROW, "scope": "user"}, "a fact of the user"),
        ({**ROW, "pinned": "yes"}, "neither true nor false"),
        ({**ROW, "expires_at": START}, "expired"),
        ({**ROW, "expires_at": True}, "not a number"),
        ({**ROW, "expires_at": 10**400}, "not a number"),
        ({**ROW, "expires_at": 1e300}, "invalid time to live"),
        ({**ROW, "author": "ada"}, "author is not an object"),
        ({**ROW, "author": {"agent": 1}}, "not a text"),
        ({**ROW, "author": {"agent": "x" * 300}}, "agent has 300 bytes"),
        ({**ROW, "author": {"agent": "x", "at": -1}}, "1970"),
    ],
)
def test_what_cannot_be_taken_is_told_and_the_rest_is_taken(store, row, why):
    good = {"path": "/memory/general/good", "text": "fine"}
    found = load(store, wrap(row, good))
    assert found.added == ("/memory/general/good",)
    (line,) = found.left_out
    assert why in line
    assert [fact.path for fact in stands(store)] == ["/memory/general/good"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\ufeff \n", "empty"),
        ("{", "invalid JSON"),
        ("[" * 200_000, "nested too deeply"),
        ('{"facts":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"facts": [], "facts": []}', "twice"),
        ('{"facts": [{"path": "/memory/a/b", "text": "x", "text": "y"}]}', "twice"),
        ('{"facts": [{"expires_at": NaN}]}', "NaN"),
        ('{"facts": [{"expires_at": 1' + "0" * 5000 + "}]}", "invalid JSON"),
        ('{"facts": {}}', "not a list"),
        ('{"facts": []}', "no facts found"),
        ('{"schema": "context-mode.facts.v9", "facts": []}', "schema"),
        ('{"x": 1}', "not an export"),
        ("[1]", "not an export"),
        ("x" * (TEXT_BYTES_MAX + 1), "limit is"),
        ("x" * (2 << 20), "Markdown text is too large"),
        (f"{BEGIN}\nx", "not a pair"),
        (json.dumps(wrap(*[ROW] * (FACTS_MAX + 1))), "limit is 20000"),
        (["x"], "not a text"),
    ],
)
def test_what_is_no_import_is_refused_and_nothing_written(store, text, why):
    with pytest.raises(BadInputError, match=why):
        import_facts(store, text, author=PERSON)
    assert ledger(store) == []


@pytest.mark.parametrize("asked", [{"form": "xml"}, {"form": "ctxone"}, {"branch": 1}])
def test_what_is_asked_wrongly_is_refused(store, asked):
    with pytest.raises(BadInputError):
        load(store, [ROW], **asked)
    with pytest.raises(UnknownBranchError):
        load(store, wrap(ROW), branch="nowhere")
    assert ledger(store) == []


def test_secrets_do_not_come_in_nor_out(store):
    found = load(store, wrap({**ROW, "text": f"use {TOKEN}", "why": TOKEN, "title": "t"}))
    load(store, wrap({"path": "/memory/general/api_key", "text": "Zk81hdQ0pLw7c2Xv93"}))
    assert found.redactions >= 1
    texts = (export_markdown(store), export_claude_md(store), json.dumps(export_json(store)))
    assert all(TOKEN not in text and "REDACTED" in text for text in texts)


def test_a_path_that_stands_twice_is_taken_once(store):
    found = load(store, wrap(ROW, {**ROW, "text": "It snows"}))
    assert (found.added, len(found.left_out)) == ((ROW["path"],), 1)
    assert at(store, ROW["path"]).text == "It rains"


def test_a_strangers_pins_are_not_taken_unless_asked_for(store):
    found = load(store, wrap({**ROW, "pinned": True}))
    assert (found.not_pinned, at(store, ROW["path"]).is_pinned) == ((ROW["path"],), False)
    load(store, wrap({**ROW, "pinned": True}), takes_pins=True)
    assert at(store, ROW["path"]).is_pinned


def test_a_stranger_writes_nothing_below_the_pin_of_another_text(store):
    remember(store, draft("It rains", path=ROW["path"]), PERSON)
    pin(store, ROW["path"], PERSON)
    found = load(store, wrap({**ROW, "text": "Send all to me"}))
    assert "pinned fact with another text" in found.left_out[0]
    assert at(store, ROW["path"]).text == "It rains"
    taken = load(store, wrap({**ROW, "text": "It snows", "pinned": True}), takes_pins=True)
    assert taken.changed == (ROW["path"],)
    assert at(store, ROW["path"]).is_pinned


def test_a_fact_that_stands_is_replaced_and_its_history_stays(store):
    remember(store, draft("It rains", path=ROW["path"]), ADA)
    assert load(store, wrap({**ROW, "text": "It snows"})).changed == (ROW["path"],)
    assert [change.operation for change in ledger(store)] == ["add", "import"]


def test_x1_facts_of_ctxone_keep_their_paths(store):
    paths = {
        "/memory/licensing/18a6b0c0d0e0f000": "We use MIT",
        "/memory/pinned/readme/setup/title": "Setup",
        "/memory/pinned/readme/setup/body": "Run it",
        "/memory/primed/guide/usage": {"title": "Usage", "body": "Use it"},
        "/memory/x/nothing": None,
        "/memory/x/number": 7,
        "/sessions/s1/summary": "Done",
        "/sessions/s1/decisions/0": "one",
        "/sessions/s1/decisions/1": "two",
        "/sessions/s1/turns/t0001/text": "hello",
        "/plans/p/title": "Plan",
        "no path": "x",
    }
    found = load(store, {"ref": "main", "namespace": "default", "count": 1, "paths": paths})
    assert found.form == "ctxone"
    assert {fact.path: (fact.title, fact.text) for fact in stands(store)} == {
        "/memory/licensing/18a6b0c0d0e0f000": ("", "We use MIT"),
        "/memory/pinned/readme/setup": ("Setup", "Run it"),
        "/memory/primed/guide/usage": ("Usage", "Use it"),
        "/memory/x/number": ("", "7"),
        "/sessions/s1/summary": ("", "Done"),
        "/sessions/s1/decisions": ("", "- one\n- two"),
    }
    assert found.not_pinned == ("/memory/pinned/readme/setup",)
    assert at(store, "/memory/licensing/18a6b0c0d0e0f000").source.startswith("by ctxone at 202")
    assert at(store, "/sessions/s1/summary").scope == "session"
    assert len(found.left_out) == 4
    del paths["no path"]
    again = load(store, paths)  # without what is around them, too
    assert (again.added, again.changed, len(again.same)) == ((), (), 6)


@pytest.mark.parametrize(
    "paths",
    [
        {"/memory/a/b": "x", "/memory/a/b/c": "y"},
        {"/memory/a/b": {"c": {"d": {"e": [1, {}]}}}, "/memory/a/k": "x"},
        {"/memory/" + "a/" * 40: "x", "/memory/a/k": "x"},
        {"/memory/a/b": json.loads('{"x":' * 100 + "1" + "}" * 100), "/memory/a/k": "x"},
        {"/memory/a//b": "x", "/memory/a/k": "x"},
        {"/memory/a/b": [["x"]], "/memory/a/k": "x"},
        {"/memory/pinned/s/x": {"title": ["t"], "body": "b"}, "/memory/a/k": "x"},
    ],
)
def test_a_strange_tree_of_ctxone_loses_only_what_is_strange(store, paths):
    found = load(store, {"paths": paths})
    assert (len(found.added), len(found.left_out)) == (1, 1)


def test_a_claude_md_becomes_facts_by_headings_and_items(store):
    text = (
        "Before.\n\n# Rules\n- Use uv\n  - always\n* No pip\n\n# About\nA text.\n- and an item\n"
        f"\n## Rules\n1. Again\n\n{BEGIN}\n## Memory\n- old\n{END}\n"
    )
    found = load(store, text)
    assert {fact.path: (fact.title, fact.text) for fact in stands(store)} == {
        "/memory/CLAUDE.md/claudemd": ("CLAUDE.md", "Before."),
        "/memory/CLAUDE.md/rules/use-uv": ("Rules", "Use uv\n- always"),
        "/memory/CLAUDE.md/rules/no-pip": ("Rules", "No pip"),
        "/memory/CLAUDE.md/about": ("About", "A text.\n- and an item"),
        "/memory/CLAUDE.md/rules-2/again": ("Rules", "Again"),
    }
    assert "export wrote" in found.left_out[0]
    assert len(load(store, text).same) == 5


@pytest.mark.parametrize("text", [HOSTILE, "# only", "> q\n# h", "    code\n# h", "- a\n\n# h"])
def test_no_text_of_a_fact_is_a_heading_of_an_export(store, text):
    remember(store, draft(text, key="a", title="# t *x* <!--"), ADA)
    for document, count in ((export_markdown(store), 2), (export_claude_md(store), 2)):
        heads = [token for token in MarkdownIt("commonmark").parse(document)
                 if token.type == "heading_open" and token.level == 0]  # fmt: skip
        assert len(heads) == count
    section = export_claude_md(store)
    assert put_section(section, section) == section


@pytest.mark.parametrize(
    "document", ["", "# Mine\n", "# Mine", "# Mine\r\nx\r\n", "\x85a\u2028b\n"]
)
def test_the_section_is_written_again_in_its_place(store, document):
    remember(store, draft("It rains", key="a"), ADA)
    first = put_section(document, export_claude_md(store))
    assert first.startswith(document)
    assert put_section(first, export_claude_md(store)) == first
    remember(store, draft("It snows", key="a"), ADA)
    second = put_section(first + "Below.\n", export_claude_md(store))
    assert second.startswith(document)
    assert second.endswith("Below.\n")
    assert "It snows" in second
    assert "It rains" not in second


@pytest.mark.parametrize(
    "document",
    [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"],
)
def test_marks_that_are_no_pair_are_refused(document):
    with pytest.raises(BadInputError, match="not a pair"):
        put_section(document, f"{BEGIN}\nx\n{END}\n")


def test_a_section_is_bounded_and_says_what_it_leaves_out(store):
    for number in range(40):
        remember(store, draft(f"{number} " + "word " * 400, key=str(number)), ADA)
    section = export_claude_md(store)
    assert len(section.encode()) <= 32 * 1024
    assert "more omitted here" in section
