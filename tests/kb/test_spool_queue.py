"""What is queued is indexed slice by slice, several to a transaction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb import Store, spool_queue
from kb.model import SourceSpec

RECORDS = [{"id": n, "name": f"record {n}", "tags": ["a", "b"] * (n % 7)} for n in range(1500)]
LINES = [f"2024-05-01 10:{n // 60 % 60:02d}:{n % 60:02d} line{n} of a log\n" for n in range(2500)]
SOURCES = {"json": json.dumps(RECORDS).encode(), "log": "".join(LINES).encode()}


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_queue, "SLICE_BYTES", 9000)


def queued(store: Store, kind: str) -> Path:
    spool = store.path.with_suffix(f".{kind}")
    spool.write_bytes(SOURCES[kind])
    store.add_spool(
        SourceSpec(kind, origin="run", kind=kind), spool, head_bytes=10_000, tail_bytes=5000
    )
    return spool


def chunks(store: Store) -> list[tuple[object, ...]]:
    with store.access.reading() as db:
        return db.execute("SELECT * FROM chunk ORDER BY id").fetchall()


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("limit", [1, 20_000, 1_000_000])
def test_the_chunks_are_the_same_however_many_slices_a_transaction_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, limit: int
) -> None:
    stored = []
    for slices in (1, 2, 5):
        monkeypatch.setattr(spool_queue, "TRANSACTION_SLICES", slices)
        with Store.open(tmp_path / f"{slices}.db") as store:
            spool = queued(store, kind)
            while store.index_pending(limit):
                pass
            assert not spool.exists()
            assert store.text(1) == SOURCES[kind]
            assert store.check() == ()
            stored.append(chunks(store))
    assert stored[0] == stored[1] == stored[2]


def test_of_a_spool_that_was_cut_off_meanwhile_the_slices_before_are_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        spool = queued(store, "log")
        spool.write_bytes(SOURCES["log"][:25_000])
        store.index_pending(100_000)
        (source,) = store.sources()
        assert 10_000 + 5000 + 8000 < source.bytes_indexed < 25_000 + 5000
        assert not source.complete
        assert store.stats()["pending_bytes"] == 0
        assert store.check() == ()


def test_a_transaction_takes_no_more_slices_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_queue, "TRANSACTION_SLICES", 3)
    with Store.open(tmp_path / "kb.db") as store:
        queued(store, "log")
        sizes = []
        with store.access.exclusively() as db:
            db.set_trace_callback(
                lambda statement: sizes.append(statement.startswith("UPDATE pending"))
            )
        store.index_pending(27_000)
        assert sum(sizes) == 2  # three slices, cut between lines, and what they left of the limit
