"""Adding, superseding, searching and reading back what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import kb.model
from kb import SearchState, Store, writing
from kb.model import SourceSpec


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "kb.db") as opened:
        yield opened


def test_a_hit_is_the_exact_chunk_with_its_place(store: Store) -> None:
    text = b"# Guide\n\nIntro text.\n\n## Install\n\nRun the frobnicator first.\n"
    store.add(SourceSpec("guide.md", name="guide.md"), text)
    (result,) = store.search("frobnicator")
    (hit,) = result.hits
    assert result.state is SearchState.MATCH
    assert text[hit.start_byte : hit.end_byte].decode() == hit.text
    assert hit.source == "guide.md"
    assert "Install" in hit.title


def test_no_match_is_told_apart_from_nothing_indexed(store: Store) -> None:
    assert store.search("zebra")[0].state is SearchState.NOTHING_INDEXED
    store.add(SourceSpec("a"), b"only horses here")
    assert store.search("zebra")[0].state is SearchState.NO_MATCH
    assert store.search("zebra", source="other")[0].state is SearchState.NOTHING_INDEXED


def test_a_later_version_supersedes_and_the_older_is_kept(store: Store) -> None:
    first = store.add(SourceSpec("run"), b"apples and oranges")
    second = store.add(SourceSpec("run"), b"pears and oranges")
    assert (first.version, second.version) == (1, 2)
    assert store.search("apples")[0].state is SearchState.NO_MATCH
    (old,) = store.search("apples", include_superseded=True)[0].hits
    assert old.superseded
    assert old.source_id == first.source_id
    assert store.text(first.source_id) == b"apples and oranges"
    assert [hit.source_id for hit in store.search("oranges")[0].hits] == [second.source_id]
    assert store.check() == ()


def test_a_series_is_superseded_whatever_its_labels(store: Store) -> None:
    first = store.add(SourceSpec("out-1", series="cmd"), b"apples")
    store.add(SourceSpec("out-2", series="cmd"), b"apples and pears")
    store.add(SourceSpec("out-3", series="other"), b"apples of another")
    assert {s.label for s in store.sources()} == {"out-2", "out-3"}
    assert store.source(first.source_id).superseded_by == 2
    assert len(store.search("apples", include_superseded=True)[0].hits) == 3
    assert store.check() == ()


def test_the_kept_text_is_the_source_byte_for_byte(store: Store) -> None:
    data = bytes(range(256)) * 100 + "日本語".encode() * 1000
    added = store.add(SourceSpec("binary"), data)
    assert store.text(added.source_id) == data
    assert store.text(added.source_id, 1000, 7001) == data[1000:7001]


def test_a_source_that_does_not_exist_is_named(store: Store) -> None:
    with pytest.raises(kb.UnknownSourceError, match="no source 99"):
        store.text(99)


def test_a_spool_is_searchable_at_both_ends_and_then_wholly(store: Store, tmp_path: Path) -> None:
    lines = [f"line {n} value{n * 7919}\n".encode() for n in range(20_000)]
    data = b"".join(lines)
    spool = tmp_path / "out.spool"
    spool.write_bytes(data)
    added = store.add_spool(
        SourceSpec("run 1", origin="run", kind="text"), spool, head_bytes=10_000, tail_bytes=5_000
    )
    assert not added.complete
    assert added.bytes_total == len(data)
    middle = f"value{10_000 * 7919}"
    last = store.search(f"value{19_999 * 7919}")[0]
    assert last.hits[0].incomplete
    assert last.incomplete_sources == (added.source_id,)
    assert f"line 19999 value{19_999 * 7919}" in last.hits[0].text
    assert last.hits[0].end_line == 20_000
    assert not any(middle in hit.text for hit in store.search(middle)[0].hits)
    left = len(data)
    while before := store.index_pending(50_000):
        assert before < left
        left = before
    assert not spool.exists()
    (hit,) = [hit for hit in store.search(middle)[0].hits if not hit.weak]
    assert not hit.incomplete
    assert hit.start_line <= 10_001 <= hit.end_line
    assert store.text(added.source_id) == data
    assert store.source(added.source_id).complete
    assert store.check() == ()


def test_a_small_spool_is_indexed_wholly_at_once(store: Store, tmp_path: Path) -> None:
    spool = tmp_path / "out.spool"
    spool.write_bytes(b"all of it\n")
    assert store.add_spool(SourceSpec("run", origin="run"), spool).complete
    assert not spool.exists()


def test_the_byte_budget_holds_over_all_queries(store: Store) -> None:
    for n in range(20):
        store.add(
            SourceSpec(f"doc {n}"), (f"alpha beta {n} " + "filler words here\n" * 70).encode()
        )
    results = store.search(["alpha", "beta"], limit=10, budget_bytes=1400)
    assert 0 < sum(len(h.text.encode()) for r in results for h in r.hits) <= 1400
    assert all(r.hits and r.omitted for r in results)


def test_purge_forgets_what_is_named_and_spares_what_is_pinned(store: Store) -> None:
    store.add(SourceSpec("old run"), b"apples")
    pinned = store.add(SourceSpec("run", pinned=True), b"pears")
    purged = store.purge(source="run")
    assert purged.sources == 1
    assert [source.id for source in store.sources()] == [pinned.source_id]
    assert store.search("apples")[0].state is SearchState.NO_MATCH
    assert store.check() == ()


def test_a_purge_leaves_no_word_of_the_source_in_the_file(store: Store) -> None:
    store.add(SourceSpec("diary"), b"# Zanzibarium\n\nabout the quuxology of common things\n")
    store.add(SourceSpec("notes"), b"common things\n")
    store.purge(source="diary")
    left = b"".join(path.read_bytes() for path in store.path.parent.glob(f"{store.path.name}*"))
    assert b"zanzibar" not in left.lower()
    assert b"quuxolog" not in left.lower()
    assert store.search("comon")[0].corrections[0][1] == "common"
    assert store.check() == ()


def test_words_that_another_process_purged_are_known_again_when_they_come_back(
    store: Store,
) -> None:
    store.add(SourceSpec("one"), b"the walruses\n")
    with Store.open(store.path) as other:
        other.purge(source="one")
    store.add(SourceSpec("two"), b"more walruses\n")
    assert store.search("walrusses")[0].corrections[0][1] == "walruses"


def test_words_of_an_addition_that_failed_are_stored_with_the_next(store: Store) -> None:
    def fail() -> None:
        with store.access.writing() as db:
            writing.insert_words(db, frozenset({"walruses"}), store.access.known_words)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    store.add(SourceSpec("two"), b"more walruses\n")
    assert store.search("walrusses")[0].corrections[0][1] == "walruses"


def test_what_has_expired_is_no_longer_found(store: Store) -> None:
    store.add(SourceSpec("page", ttl_s=-1), b"apples")
    assert store.search("apples")[0].state is SearchState.NOTHING_INDEXED
    assert store.purge().sources == 1


def test_a_damaged_file_is_set_aside_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    path.write_bytes(b"this is no database" * 100)
    with Store.open(path) as store:
        assert "damaged" in store.notices[0] or "not an SQLite" in store.notices[0]
        store.add(SourceSpec("a"), b"works again")
    (aside,) = tmp_path.glob("kb.db.corrupt-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_a_missing_store_is_not_created_unasked(tmp_path: Path) -> None:
    with pytest.raises(kb.model.StoreUnavailableError, match="index something first"):
        Store.open(tmp_path / "kb.db", create=False)


def test_a_backup_is_a_whole_store(store: Store, tmp_path: Path) -> None:
    store.add(SourceSpec("a"), b"apples")
    store.backup(tmp_path / "copy.db")
    with Store.open(tmp_path / "copy.db") as copy:
        assert copy.search("apples")[0].hits
    with pytest.raises(FileExistsError):
        store.backup(tmp_path / "copy.db")


def test_a_later_part_of_a_table_is_not_numbered_anew(store: Store, tmp_path: Path) -> None:
    spool = tmp_path / "out.csv"
    spool.write_bytes(b"id,name\n" + b"".join(b"%d,name%d\n" % (n, n) for n in range(5000)))
    added = store.add_spool(
        SourceSpec("t", origin="run", kind="csv"), spool, head_bytes=8000, tail_bytes=8000
    )
    while store.index_pending():
        pass
    titles = {hit.title for hit in store.best_chunks(added.source_id, "name4990", 1)}
    assert not any(title.startswith(("rows", "header")) for title in titles)
