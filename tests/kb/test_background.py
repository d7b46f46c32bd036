"""A large version that is superseded moves into the history bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb import SearchState, Store, writing
from kb.model import SourceSpec

LARGE = b"".join(b"line %d of the elephant log\n" % n for n in range(40_000))
assert len(LARGE) > 2 * writing.MOVED_AT_ONCE_BYTES


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """One in which a large version has just been superseded."""
    with Store.open(tmp_path / "kb.sqlite3") as opened:
        opened.add(SourceSpec("log"), LARGE)
        opened.add(SourceSpec("log"), b"giraffes\n")
        yield opened


def terms(store: Store, table: str) -> int:
    with store.access.reading() as db:
        found = db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH 'elephant'")
        return int(found.fetchone()[0])


def test_search_passes_it_over_at_once_and_finds_it_where_history_is_asked_for(
    store: Store,
) -> None:
    assert terms(store, "chunk_fts") > 0
    for _ in range(3):
        assert store.search("elephant")[0].state is SearchState.NO_MATCH
        (result,) = store.search("elephant", include_superseded=True)
        assert all(hit.superseded for hit in result.hits)
        assert result.hits
        assert store.check() == ()
        store.settle()


def test_it_moves_wholly_a_part_at_each_step(store: Store) -> None:
    chunks = terms(store, "chunk_fts")
    steps = 0
    while store.settle():
        steps += 1
        assert terms(store, "chunk_fts") + terms(store, "history_fts") == chunks
        assert store.check() == ()
    assert steps > 2
    assert (terms(store, "chunk_fts"), terms(store, "history_fts")) == (0, chunks)


def test_what_is_still_queued_of_it_is_found_with_the_history(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_bytes(LARGE)
    with Store.open(tmp_path / "kb.sqlite3") as store:
        store.add_spool(
            SourceSpec("log", origin="run"), spool, head_bytes=600_000, tail_bytes=20_000
        )
        store.add(SourceSpec("log"), b"giraffes\n")
        while store.settle(50_000):
            assert store.check() == ()
        assert store.source(1).complete
        assert terms(store, "chunk_fts") == 0
        assert terms(store, "history_fts") == store.source(1).chunks


@pytest.mark.parametrize("purged", [{"source": 1}, {"everything": True}])
@pytest.mark.parametrize("steps", [0, 1])
def test_it_can_be_purged_meanwhile(store: Store, steps: int, purged: dict[str, object]) -> None:
    for _ in range(steps):
        store.settle()
    store.purge(**purged)
    assert store.check() == ()
    assert terms(store, "chunk_fts") + terms(store, "history_fts") == 0
    assert not store.settle()


def test_the_indexes_can_be_rebuilt_meanwhile(store: Store) -> None:
    store.settle()
    assert store.repair() == ()
    while store.settle():
        pass
    assert store.check() == ()
    assert terms(store, "chunk_fts") == 0
