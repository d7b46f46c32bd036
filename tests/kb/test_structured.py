"""Key paths, records and sections of the other kinds: titles tell where a chunk stood."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

import kb.chunking
from kb.chunkers import outline
from kb.model import SourceSpec

FILLER = "filler words to give it some length. " * 14


def titles(data: bytes | str, kind: str) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [chunk.title_text for chunk in kb.chunking.chunk(raw, kind=kind)]


def test_json_titles_are_key_paths_with_the_record_named() -> None:
    data = json.dumps(
        {
            "version": 1,
            "users": [
                {"id": 7, "name": "alice", "bio": FILLER},
                {"id": 8, "name": "bob", "address": {"street": FILLER, "city": FILLER * 3}},
            ],
            "tail": {"a": 1},
        },
        indent=1,
    )
    found = titles(data, "json")
    assert found[0] == "users > [0] alice"
    assert "users > [1] bob > address > city" in found
    assert "tail" in found[-1]


def test_json_chunks_are_the_exact_text_not_serialised_anew() -> None:
    data = b'{ "a" : [1,2 , 3],\r\n  "b":"\\u00fc" }'
    assert b"".join(chunk.text.encode() for chunk in kb.chunking.chunk(data, kind="json")) == data


def test_small_json_items_share_a_chunk() -> None:
    data = json.dumps([{"n": n} for n in range(1000)]).encode()
    document = kb.chunking.chunk(data, kind="json")
    assert len(document) < 15
    assert document.chunks[1].title[0].startswith("[")


def test_json_lines_are_titled_by_their_records() -> None:
    lines = [json.dumps({"name": f"rec{n}", "text": FILLER}) for n in range(5)]
    assert titles("\n".join(lines), "jsonl")[3] == "[3] rec3"


def test_yaml_titles_are_key_paths_and_block_scalars_hold_no_keys() -> None:
    data = f"""\
# comment
services:
  web:
    image: nginx
    script: |
      not_a_key: 1
      {FILLER * 2}
    env:
    - name: A
      value: "{FILLER}"
    # between
    - name: B
      value: "{FILLER}"
  db:
    image: "{FILLER * 2}"
other: 1
"""
    assert titles(data, "yaml") == [
        "services > web > script",
        "services > web > env",
        "services > db",
        "other",
    ]


def test_toml_and_ini_titles_are_tables_and_keys() -> None:
    data = (
        f'[tool.a]\nx = "{FILLER}"\n[tool.b]\ny = """\n[no table]\n{FILLER}"""\n'
        f'z = "{FILLER * 2}"\n'
    )
    assert titles(data, "toml") == ["tool.a", "tool.b > y", "tool.b > z"]


def test_xml_titles_are_element_paths_with_identity() -> None:
    data = (
        f"<root><item id='a'>{FILLER}</item><!-- <x> -->"
        f"<item name='b'><p>{FILLER}</p><q>{FILLER * 2}</q></item>"
    )
    assert titles(data + "</root>", "xml") == [
        "root > item a",
        "root > item b > p",
        "root > item b > q",
    ]


def test_csv_chunks_hold_whole_rows_and_know_the_columns() -> None:
    rows = [f'{n},"name {n}, with\nline break and ""quotes""",{FILLER[:60]}' for n in range(40)]
    document = kb.chunking.chunk(("id,name,text\n" + "\n".join(rows)).encode(), kind="csv")
    assert document.chunks[0].title == ("id, name, text", "rows 1-14: 0 … 13")
    assert all("id" in chunk.identifiers for chunk in document)
    assert document.chunks[1].text.startswith("14,")


def test_diff_titles_are_files_and_hunks() -> None:
    hunk = "@@ -{0},2 +{0},2 @@ def f():\n-old\n+new " + FILLER + "\n"
    data = (
        "diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n"
        + hunk.format(1)
        + hunk.format(50)
        + "--- a/y.py\n+++ b/y.py\n"
        + hunk.format(3)
    )
    assert titles(data, "diff") == [
        "x.py > @@ -1,2 +1,2 @@ def f():",
        "x.py > @@ -50,2 +50,2 @@ def f():",
        "y.py > @@ -3,2 +3,2 @@ def f():",
    ]


def test_rst_levels_follow_the_order_of_styles() -> None:
    data = (
        "=====\nTitle\n=====\n\nintro\n\nPart\n----\n\n.. code-block:: python\n\n   ----\n   x\n\n"
        f"{FILLER}\n\nSub\n~~~\n\n{FILLER}\n\nPart 2\n------\n\n{FILLER}\n"
    )
    found = titles(data, "rst")
    assert found[-2:] == ["Title > Part > Sub", "Title > Part 2"]
    assert not any("x" in title for title in found)


def test_asciidoc_headings_but_not_those_in_blocks() -> None:
    data = f"= Doc\n\n== One\n\n----\n== no\n----\n{FILLER}\n\n== Two\n\n{FILLER}\n"
    assert titles(data, "asciidoc") == ["Doc > One", "Doc > Two"]


def test_html_headings_but_not_those_in_scripts() -> None:
    data = (
        f"<h1>A &amp; <b>B</b></h1><p>{FILLER}</p><script>'<h2>no</h2>'</script>"
        f"<h2 class='x'>Two</h2><p>{FILLER}</p><h1>C</h1><p>{FILLER}</p>"
    )
    found = titles(data, "html")
    assert found == ["A & B", "A & B > Two", "C"]


def test_notebook_cells_are_titled_by_heading_and_first_line() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Load\n", FILLER]},
        {"cell_type": "code", "source": ["import x\n", FILLER], "outputs": [{"text": FILLER}]},
    ]
    metadata = {"language_info": {"codemirror_mode": {"name": "ipython"}, "name": "python"}}
    data = json.dumps({"cells": cells, "metadata": metadata}, indent=1)
    document = kb.chunking.chunk(data.encode(), name="a.ipynb")
    found = [chunk.title_text for chunk in document]
    assert found[:3] == ["Load > cell 1", "Load > cell 2: import x", "Load > cell 2 outputs"]
    assert document.chunks[1].language == "python"


def test_log_entries_are_counted_by_pattern_and_traces_stand_whole() -> None:
    lines = [
        f"2024-05-01 10:00:{n % 60:02d} INFO request {n} served in {n}ms\n" for n in range(100)
    ]
    trace = (
        "2024-05-01 10:02:00 ERROR failed\nTraceback (most recent call last):\n"
        + '  File "a.py", line 1, in f\n    g()\n' * 10
        + "ValueError: bad value\n"
    )
    document = kb.chunking.chunk(("".join(lines) + trace + "".join(lines)).encode(), kind="log")
    first = document.chunks[0]
    assert first.title[0].startswith("2024-05-01 10:00:00 - 2024-05-01 10:00:")
    assert "INFO request <*> served in <*>ms x" in first.title[0]
    (traced,) = [chunk for chunk in document if chunk.title == ("ValueError: bad value",)]
    assert traced.text == trace
    assert all(chunk.text.endswith("\n") for chunk in document)


def test_java_traces_stand_whole() -> None:
    trace = "java.lang.IllegalStateException: no\n" + "\tat a.b.C(D.java:1)\n" * 20
    data = "started\n" + trace + "Caused by: x\n\tat e.F(G.java:2)\nnext line\n"
    (traced,) = [
        c for c in kb.chunking.chunk(data.encode(), kind="log") if "IllegalState" in c.title[0]
    ]
    assert traced.text.startswith("java.lang")
    assert "Caused by" in traced.text
    assert "next line" not in traced.text


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (
            "tests",
            "=== FAILURES ===\n____ test_a ____\n" + FILLER + "\n--- FAIL: TestB (0.1s)\n" + FILLER,
            ["FAILED test_a", "FAILED TestB"],
        ),
        (
            "compiler",
            f"a.c:1:2: error: one\n  {FILLER}\nerror[E0308]: two\n  --> b.rs:1\n{FILLER}\n",
            ["a.c > error: a.c:1:2: one", "b.rs > error[E0308]: two (b.rs:1)"],
        ),
        (
            "stacks",
            f"goroutine 1 [running]:\n{FILLER}\n\ngoroutine 7 [chan receive]:\n{FILLER}\n",
            ["goroutine 1 [running]:", "goroutine 7 [chan receive]:"],
        ),
    ],
)
def test_reports_are_cut_by_what_they_report(kind: str, data: str, expected: list[str]) -> None:
    assert titles(data, kind) == expected


RECORDS = json.dumps(
    {
        "meta": {"version": 1},
        "users": [
            {"name": f"user {n}", "note": 'a "quoted\\" word, [brackets] {here} ' * (n % 9),
             "tags": [n, n + 1], "nested": {"deep": {"value": "x" * (n % 300)}}}
            for n in range(1500)
        ],
        "last": True,
    },
)  # fmt: skip


@pytest.mark.parametrize("form", ["one line", "indented", "lines"])
def test_key_paths_go_on_through_what_was_queued(tmp_path: Path, form: str) -> None:
    value = json.loads(RECORDS)
    text = {
        "one line": lambda: RECORDS,
        "indented": lambda: json.dumps(value, indent=1),
        "lines": lambda: "".join(json.dumps(user) + "\n" for user in value["users"]),
    }[form]()
    spool = tmp_path / "spool"
    spool.write_text(text)
    with kb.Store.open(tmp_path / "kb.db") as store:
        kind = "jsonl" if form == "lines" else "json"
        added = store.add_spool(
            SourceSpec("run", origin="run", kind=kind), spool, head_bytes=9000, tail_bytes=1000
        )
        while store.index_pending(limit_bytes=9000):
            pass
        assert store.text(added.source_id) == text.encode()
        for n in (100, 777, 1200):
            found = store.search(f'"user {n}"', limit=3)[0].hits
            titles = [hit.title for hit in found if f'"user {n}"' in hit.text]
            place = f"[{n}]" if form == "lines" else f"users > [{n}]"
            assert any(title.startswith((place, f"users > user {n}")) or f"[{n}] user {n}" in title
                       for title in titles), titles  # fmt: skip


def test_headings_go_on_through_what_was_queued(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_text(
        "# Guide\n\n## Set-up\n\n" + "".join(f"step {n} of it\n\n" for n in range(5000))
    )
    with kb.Store.open(tmp_path / "kb.db") as store:
        store.add_spool(
            SourceSpec("run", origin="run", kind="markdown"),
            spool,
            head_bytes=9000,
            tail_bytes=1000,
        )
        store.index_pending()
        (hit, *_) = store.search("2500", limit=1)[0].hits
        assert hit.title == "Guide > Set-up"


DEEP = 300_000
BOMBS = {
    "json": b"[" * DEEP,
    "json of objects": b'{"a":' * DEEP,
    "jsonl": (b"[" * DEEP + b"\n") * 2,
    "yaml": b"- " * DEEP,
    "yaml of items": b"-\n" * DEEP,
    "xml": b"<a>" * DEEP,
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_nested_without_end_takes_no_memory_to_speak_of(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "PARTS_MAX", 10_000)
    tracemalloc.start()
    try:
        chunks = list(kb.chunking.chunk(BOMBS[name], kind=name.partition(" ")[0]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "".join(chunk.text for chunk in chunks).encode() == BOMBS[name]
    assert peak < 24 * 1024 * 1024


@pytest.mark.parametrize("depth", [10, 5000])
def test_titles_are_right_behind_what_is_nested_too_deeply(depth: int) -> None:
    inner = b"[" * depth + b'"]", {"a": 1}' + b"]" * depth
    data = b'{"deep": %b, "after": {"name": "%b"}}' % (inner, FILLER.encode())
    assert "after" in titles(data.decode(), "json")[-1]
