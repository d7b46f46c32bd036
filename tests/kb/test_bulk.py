"""Many sources at once are stored as if one by one, whoever prepared them."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from base.secrets import Secret
from kb import Store, bulk, indexing
from kb.access import Access
from kb.model import SourceSpec
from tests.kb.folders import index_paths

SOURCES = [
    (f"{n}.{suffix}", text.replace("NUMBER", str(n)).encode() * 20)
    for n in range(12)
    for suffix, text in {
        "py": "def functionNUMBER(x):\n    return x\n\n",
        "md": "# heading NUMBER\n\nsome text of getValueNUMBER\n\n",
        "html": "<html><body><h1>page NUMBER</h1><p>paragraph here</p></body></html>\n",
        "json": '{"name": "NUMBER", "value": [1, 2]}\n',
    }.items()
]


@pytest.fixture(params=["inline", "workers"])
def preparation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "workers":
        monkeypatch.setattr(bulk, "INLINE_BYTES", 0)
        monkeypatch.setattr(bulk, "BATCH_SOURCES", 5)
    monkeypatch.setattr(bulk, "TRANSACTION_BYTES", 5000)
    return request.param


def rows(store: Store) -> list[tuple[object, ...]]:
    with store.access.reading() as db:
        return db.execute(
            "SELECT s.label, s.version, s.kind, c.leaf, c.crumb, c.start_byte, c.end_byte, c.body,"
            " c.start_line, c.end_line FROM source s JOIN chunk c ON c.source_id = s.id"
            " ORDER BY c.id"
        ).fetchall()


def words(store: Store) -> set[str]:
    with store.access.reading() as db:
        return {text for (text,) in db.execute("SELECT text FROM word")}


def test_it_stores_what_single_additions_store(tmp_path: Path, preparation: str) -> None:
    with Store.open(tmp_path / "one.db") as one, Store.open(tmp_path / "many.db") as many:
        added = [
            one.add(SourceSpec(label, name=label, origin="file"), data) for label, data in SOURCES
        ]
        with many.bulk() as addition:
            for label, data in SOURCES:
                addition.add(SourceSpec(label, origin="file", name=label), data)
        assert addition.indexed == added
        assert addition.bytes_indexed == sum(indexed.bytes_indexed for indexed in added)
        assert rows(many) == rows(one)
        assert words(many) == words(one)
        assert many.check() == ()


def test_versions_of_one_source_supersede_each_other_within_a_transaction(
    tmp_path: Path, preparation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "TRANSACTION_BYTES", 1_000_000)
    versions = [f"# version {word}\n\ntext of {word}\n" for word in ("first", "second", "third")]
    with Store.open(tmp_path / "one.db") as one, Store.open(tmp_path / "many.db") as many:
        with many.bulk() as addition:
            for text in versions:
                one.add(SourceSpec("a.md", name="a.md", origin="file"), text.encode())
                addition.add(SourceSpec("a.md", origin="file", name="a.md"), text.encode())
        assert rows(many) == rows(one)
        assert many.check() == ()
        assert not many.search("first")[0].hits
        (hit,) = many.search("first", include_superseded=True)[0].hits
        assert hit.superseded
        assert [hit.superseded for hit in many.search("third")[0].hits] == [False]


def test_many_small_sources_are_prepared_while_one_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "INLINE_BYTES", -1)
    monkeypatch.setattr(bulk, "BATCH_SOURCES", 1)
    prepared = threading.Semaphore(0)
    prepare = indexing.prepare_all

    def slow_at_first(
        access: Access, sources: Sequence[tuple[SourceSpec, bytes]]
    ) -> list[indexing.Prepared]:
        if sources[0][0].label == "slow":
            for _ in range(bulk.AHEAD_BATCHES):
                assert prepared.acquire(timeout=60)
        else:
            prepared.release()
        return prepare(access, sources)

    monkeypatch.setattr(indexing, "prepare_all", slow_at_first)
    labels = ["slow", *(f"{n}.txt" for n in range(bulk.AHEAD_BATCHES))]
    with Store.open(tmp_path / "kb.db") as store:
        with store.bulk() as addition:
            for label in labels:
                addition.add(SourceSpec(label, origin="file", name=label), b"some words\n")
        assert [indexed.label for indexed in addition.indexed] == labels


@pytest.mark.parametrize(("bound", "most"), [("AHEAD_BYTES", 3000), ("AHEAD_BATCHES", 3)])
def test_no_more_is_prepared_ahead_than_bounds_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(bulk, "INLINE_BYTES", -1)
    monkeypatch.setattr(bulk, "BATCH_SOURCES", 1)
    monkeypatch.setattr(bulk, bound, most)
    with Store.open(tmp_path / "kb.db") as store, store.bulk() as addition:
        for n in range(20):
            addition.add(SourceSpec(f"{n}.txt", origin="file", name=f"{n}.txt"), b"x " * 500)
            assert len(addition._coming) <= 3


def test_what_was_stored_before_a_failure_stays(tmp_path: Path, preparation: str) -> None:
    def add_all(addition: bulk.Bulk) -> None:
        with addition:
            for label, data in SOURCES:
                addition.add(SourceSpec(label, origin="file", name=label), data)
            addition.add(SourceSpec("bad", origin="file", kind="poem"), b"x")

    with Store.open(tmp_path / "kb.db") as store:
        addition = store.bulk()
        with pytest.raises(ValueError, match="unknown kind 'poem'"):
            add_all(addition)
        kept = {source.label for source in store.sources()}
        assert kept == {indexed.label for indexed in addition.indexed}
        assert kept <= {label for label, _ in SOURCES}
        assert store.check() == ()


def test_secrets_are_taken_out_wherever_a_source_is_prepared(
    tmp_path: Path, preparation: str
) -> None:
    def find(data: bytes) -> list[Secret]:
        return [Secret("test", m.start(), m.end()) for m in re.finditer(rb"hunter\d", data)]

    with Store.open(tmp_path / "kb.db", redact=find) as store:
        with store.bulk() as addition:
            for n in range(5):
                about = SourceSpec(f"{n}.md", origin="file", name=f"{n}.md")
                addition.add(about, f"# about hunter{n}\n\ntext hunter{n} and more\n".encode())
        assert [indexed.redactions for indexed in addition.indexed] == [2] * 5
        assert not any("hunter" in str(row) for row in rows(store))
        assert not any("hunter" in word for word in words(store))


def test_a_folder_is_indexed_in_bulk(tmp_path: Path, preparation: str) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    for label, data in SOURCES:
        (root / label).write_bytes(data)
    with Store.open(tmp_path / "kb.db") as store:
        report = index_paths(store, root)
        assert sorted(report.indexed) == sorted(label for label, _ in SOURCES)
        assert index_paths(store, root).unchanged == len(SOURCES)
        assert store.check() == ()
