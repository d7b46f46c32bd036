"""What other stores of this kind were found to do wrong, each as a test that this one does not.

Those about ranking, corrections and odd queries are in test_search.py, about fences, setext and
equal titles in test_markdown.py, about damaged files in test_store.py.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import kb.chunking
import kb.directory
from kb import Store
from kb.model import SourceSpec
from kb.packing import CAP_BYTES, TARGET_BYTES
from tests.kb.folders import index_paths

LARGE = {
    "one line of 2 MB": (b"x" * 2_000_000, "text"),
    "a log": (b"".join(b"2024-05-01 10:00:00 INFO job %d done\n" % n for n in range(6000)), "log"),
    "YAML": (b"".join(b"key%d:\n  name: value %d\n" % (n, n) for n in range(2500)), "yaml"),
    "a paragraph without blank lines": (b"words and more words\n" * 5000, "markdown"),
}


@pytest.mark.parametrize("what", LARGE)
def test_nothing_becomes_one_huge_chunk(what: str) -> None:
    data, kind = LARGE[what]
    document = kb.chunking.chunk(data, kind=kind)
    assert max(chunk.end_byte - chunk.start_byte for chunk in document) <= CAP_BYTES
    assert len(document) >= len(data) // CAP_BYTES
    assert len(document) <= 3 * len(data) // TARGET_BYTES


@pytest.mark.parametrize("name", ["a.py", "a.sh", "a.rb", "a.yaml", "Makefile"])
def test_a_comment_is_no_heading(name: str) -> None:
    data = b"# not a heading\nvalue = 1\n\n# nor this\nother = 2\n" * 40
    document = kb.chunking.chunk(data, name=name)
    assert document.kind != "markdown"
    assert not any(len(chunk.title) > 1 for chunk in document)


def test_json_is_kept_as_it_was_written(tmp_path: Path) -> None:
    data = b'{"b" : 1.0,\n   "a":[1,  2],"u":"\\u00fc"}\n'
    with Store.open(tmp_path / "kb.db") as store:
        added = store.add(SourceSpec("a.json", name="a.json"), data)
        assert store.text(added.source_id) == data
        assert store.search("a")[0].hits[0].text.encode() == data


def test_the_next_output_of_a_label_hides_but_keeps_the_one_before(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        first = store.add(SourceSpec("run"), b"apples")
        store.add(SourceSpec("run"), b"pears")
        assert store.search("apples")[0].hits == ()
        (hit,) = store.search("apples", include_superseded=True)[0].hits
        assert (hit.source_id, hit.superseded) == (first.source_id, True)


def test_a_change_that_keeps_the_old_time_is_seen(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = root / "a.txt"
    path.write_text("apples\n")
    before = path.stat()
    with Store.open(tmp_path / "kb.db") as store:
        index_paths(store, root)
        path.write_text("pears and plums\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert index_paths(store, root).indexed == ("a.txt",)
        assert store.search("plums")[0].hits


def steps(store: Store, action: Callable[[], object]) -> int:
    """What SQLite has to do for it, in hundreds of instructions of its machine."""
    count = 0

    def progress() -> int:
        nonlocal count
        count += 1
        return 0

    for connection in (store.access._writer, store.access._reader):
        assert connection is not None
        connection.set_progress_handler(progress, 100)
    action()
    for connection in (store.access._writer, store.access._reader):
        assert connection is not None
        connection.set_progress_handler(None, 0)
    return count


def test_a_note_costs_the_same_in_a_large_store(tmp_path: Path) -> None:
    costs = []
    with Store.open(tmp_path / "kb.db") as store:
        for size in (100, 2000):
            with store.bulk() as bulk:
                for n in range(size):
                    about = SourceSpec(f"{size} {n}", origin="note")
                    bulk.add(about, b"some words about number%d\n" % n * 20)
            notes = [
                steps(store, lambda n=n: store.add(SourceSpec(f"note {n}"), b"short"))
                for n in range(5)
            ]
            again = [
                steps(store, lambda n=n: store.add(SourceSpec(f"note {n}"), b"new"))
                for n in range(5)
            ]
            costs.append((min(notes), min(again)))
    assert costs[1][0] <= 2 * costs[0][0] + 10
    assert costs[1][1] <= 2 * costs[0][1] + 10


def test_only_the_text_that_is_shown_is_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        for n in range(60):
            store.add(SourceSpec(f"source {n}"), b"apples and number%d\n" % n * 20)
        read: list[str] = []
        store.access._reader.set_trace_callback(read.append)
        assert len(store.search("apples", limit=3)[0].hits) == 3
        store.access._reader.set_trace_callback(None)
        assert sum("c.body" in statement for statement in read) == 3


def test_two_thirds_of_the_file_is_not_index(tmp_path: Path) -> None:
    """The text once, and no full index of its trigrams: others took ten times the text."""
    words = [f"{a}{b}{c}" for a in ("alpha", "beta", "gamma") for b in "xyz" for c in range(200)]
    text = "".join(f"{word} and {words[-n]} stand here together\n" for n, word in enumerate(words))
    with Store.open(tmp_path / "kb.db") as store:
        for n in range(30):
            store.add(
                SourceSpec(f"source {n}", kind="text"), text.replace("stand", f"stood{n}").encode()
            )
        store.checkpoint()
        stats = store.stats()
        assert stats["file_bytes"] <= 2.2 * stats["text_bytes"]


def test_deleting_a_source_finds_its_chunks_by_an_index(tmp_path: Path) -> None:
    Store.open(tmp_path / "kb.db").close()
    db = sqlite3.connect(tmp_path / "kb.db")
    plan = db.execute("EXPLAIN QUERY PLAN SELECT body FROM chunk WHERE source_id = 1").fetchall()
    db.close()
    assert "USING INDEX chunk_source" in str(plan)
