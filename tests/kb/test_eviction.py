"""A store keeps to its quota: the oldest goes, a little at a time, and its space is given back."""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from kb import Origin, Store, access, eviction, writing
from kb.model import SourceSpec, StoreQuotaError

QUOTA = 3_000_000


def text(number: int, size: int = 200_000) -> bytes:
    """Words that hardly repeat, so that a store of them is as large as it may be."""
    words = random.Random(number)
    lines = (f"source{number} word{words.randrange(10**6)} {words.random()}" for _ in range(size))
    data = bytearray()
    for line in lines:
        data += line.encode() + b"\n"
        if len(data) >= size:
            break
    return bytes(data[:size])


def opened(path: Path, quota: int = QUOTA) -> Store:
    return Store.open(path, quota=lambda: quota)


def settled(store: Store) -> int:
    """Take every step that is left; how many those were."""
    steps = 0
    while store.settle():
        steps += 1
        assert steps < 10_000
    return steps


def labels(store: Store) -> set[str]:
    return {source.label for source in store.sources(include_superseded=True)}


def on_disk(store: Store) -> int:
    return eviction.of_store(store.path).total


def evictions(store: Store) -> tuple[eviction.Eviction, ...]:
    with store.access.reading() as db:
        return eviction.latest(db)


def test_within_its_quota_a_store_loses_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        for n in range(4):
            store.add(SourceSpec(f"text {n}"), text(n))
        settled(store)
        assert len(labels(store)) == 4
        assert evictions(store) == ()


def test_the_oldest_go_and_their_space_is_given_back(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        for n in range(20):
            store.add(SourceSpec(f"text {n:02}"), text(n))
        before = on_disk(store)
        settled(store)
        assert on_disk(store) <= QUOTA < before
        left = sorted(labels(store))
        assert left == [f"text {n:02}" for n in range(20 - len(left), 20)]
        assert len(left) >= 5
        assert not any("source0 " in hit.text for hit in store.search("source0")[0].hits)
        assert store.search("source19")[0].hits
        assert store.check() == ()
        (told,) = evictions(store)
        assert told.sources == 20 - len(left)
        assert told.ended_at is not None
        assert told.quota == "project"


def test_superseded_versions_go_before_older_ones_that_are_current(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        store.add(SourceSpec("oldest"), text(1))
        for n in range(12):
            store.add(SourceSpec("again"), text(n))
        settled(store)
        assert on_disk(store) <= QUOTA
        assert [source.label for source in store.sources()] == ["again", "oldest"]
        assert store.check() == ()


def test_what_has_expired_goes_first(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        store.add(SourceSpec("oldest"), text(1))
        for n in range(8):
            store.add(SourceSpec(f"expired {n}", ttl_s=0), text(n))
        store.add(SourceSpec("latest"), text(9))
        settled(store)
        assert {"oldest", "latest"} <= labels(store)


def test_pinned_sources_stay_and_what_has_no_room_beside_them_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        for n in range(20):
            try:
                store.add(SourceSpec(f"text {n}", pinned=True), text(n))
            except StoreQuotaError as error:
                refused = str(error)
                break
        settled(store)
        assert labels(store) == {f"text {m}" for m in range(n)}
        assert "pinned" in refused
        assert "quota.project_bytes" in refused
        spool = tmp_path / "spool"
        spool.write_bytes(text(99))
        with pytest.raises(StoreQuotaError):
            store.add_spool(SourceSpec("spool", origin="run"), spool)
        assert spool.exists()


def test_a_single_source_that_is_larger_than_the_quota_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3", 1_000_000) as store:
        store.add(SourceSpec("small"), text(1))
        with pytest.raises(StoreQuotaError):
            store.add(SourceSpec("large"), text(2, 1_000_000))
        assert labels(store) == {"small"}


def test_many_sources_at_once_never_take_much_more_than_the_quota(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        most = 0
        with store.bulk() as bulk:
            for n in range(40):
                bulk.add(writing_about(n), text(n))
                with store.access.reading() as db:
                    most = max(most, eviction.of_store(store.path, db).filled)
        assert most < 2 * QUOTA
        settled(store)
        assert on_disk(store) <= QUOTA


def writing_about(number: int) -> object:
    from kb.model import SourceSpec

    return SourceSpec(f"text {number:02}", origin=Origin.NOTE)


def test_a_step_forgets_no_more_than_some_chunks_of_a_large_source(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        large = store.add(SourceSpec("large"), text(1, 1_500_000))
        store.add(SourceSpec("next"), text(2, 1_200_000))
        kept = [large.chunks]
        while store.settle():
            kept.append(next((s.chunks for s in store.sources() if s.label == "large"), 0))
        assert kept[-1] < kept[0]
        gone = [before - after for before, after in itertools.pairwise(kept)]
        assert max(gone) <= writing.STEP_CHUNKS
        assert store.check() == ()


def test_what_is_partly_forgotten_says_that_it_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite3"
    with opened(path) as store:
        store.add(SourceSpec("large"), text(1, 1_500_000))
        eviction.begin(store.access, "project", lambda size, _: size - 700_000)
        settled(store)
        (source,) = store.sources()
        assert 0 < source.bytes_indexed < source.bytes_total == 1_500_000
        assert text(1, 1_500_000).startswith(store.text(source.id))
        assert store.check() == ()


def test_a_file_that_is_partly_forgotten_is_indexed_anew(tmp_path: Path) -> None:
    from tests.kb.folders import index_paths

    project = tmp_path / "project"
    project.mkdir()
    (project / "large.txt").write_bytes(text(1, 1_500_000))
    with Store.open(tmp_path / "kb.sqlite3") as store:
        index_paths(store, project)
        assert index_paths(store, project).unchanged == 1
        eviction.begin(store.access, "project", lambda size, _: size - 700_000)
        settled(store)
        assert index_paths(store, project).indexed == ("large.txt",)
        assert store.sources()[0].complete


def test_what_is_queued_goes_with_its_file_when_it_is_the_oldest(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.sqlite3") as store:
        folder = eviction.queue_folder(store.path)
        folder.mkdir()
        spools = [folder / str(n) for n in range(4)]
        for n, spool in enumerate(spools):
            spool.write_bytes(text(n, 1_600_000))
            store.add_spool(
                SourceSpec(f"output {n}", origin="run"), spool, head_bytes=50_000, tail_bytes=50_000
            )
        settled(store)
        assert on_disk(store) <= QUOTA
        assert not any(spool.exists() for spool in spools)
        assert "output 0" not in labels(store)
        assert "output 3" in labels(store)
        assert eviction.of_store(store.path).total > QUOTA // 2
        assert store.stats()["pending_bytes"] == 0
        assert store.check() == ()


@pytest.mark.parametrize(("age_s", "stays"), [(0, True), (2 * eviction.ORPHAN_S, False)])
def test_files_that_nobody_will_index_go_once_they_are_old(
    tmp_path: Path, age_s: float, stays: bool
) -> None:
    with opened(tmp_path / "kb.sqlite3", 100_000) as store:
        orphan = eviction.queue_folder(store.path) / "orphan"
        orphan.parent.mkdir()
        orphan.write_bytes(bytes(200_000))
        now = orphan.stat().st_mtime
        os.utime(orphan, (now - age_s, now - age_s))
        store.settle()
        assert orphan.exists() is stays


def test_several_at_once_drop_no_more_than_one_would(tmp_path: Path) -> None:
    left = {}
    for servers in (1, 3):
        path = tmp_path / f"{servers}.sqlite3"
        with Store.open(path) as store:
            for n in range(20):
                store.add(SourceSpec(f"text {n:02}"), text(n))
        stores = [opened(path) for _ in range(servers)]
        threads = [threading.Thread(target=settled, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert stores[0].check() == ()
        assert len(evictions(stores[0])) == 1
        left[servers] = len(labels(stores[0]))
        for store in stores:
            store.close()
    assert abs(left[1] - left[3]) <= 1


def test_another_process_goes_on_where_one_was_ended(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite3"
    with opened(path) as store:
        for n in range(20):
            store.add(SourceSpec(f"text {n}"), text(n))
        store.settle()
    with Store.open(path) as later:  # without a quota of its own
        assert evictions(later)[0].ended_at is None
        assert settled(later) > 1
        assert on_disk(later) <= QUOTA


def test_a_file_that_was_not_made_to_shrink_does_so_too_and_then_bit_by_bit(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite3"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE before (x)")
        db.execute("DROP TABLE before")
        assert db.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    with opened(path) as store:
        for n in range(20):
            store.add(SourceSpec(f"text {n}"), text(n))
        settled(store)
        assert on_disk(store) <= QUOTA
        with store.access.reading() as db:
            assert db.execute("PRAGMA auto_vacuum").fetchone()[0]
        assert store.check() == ()


def test_a_new_file_is_made_so_that_it_can_shrink(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kb.sqlite3") as store, store.access.reading() as db:
        assert db.execute("PRAGMA auto_vacuum").fetchone()[0] == 2


def test_a_busy_reader_does_not_hold_the_steps_up(tmp_path: Path) -> None:
    path = tmp_path / "kb.sqlite3"
    reader = None
    with opened(path) as store:
        for n in range(20):
            store.add(SourceSpec(f"text {n}"), text(n))
        reader = access.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM source").fetchone()
        for _ in range(5):
            assert store.settle()
        reader.close()
        settled(store)
        assert on_disk(store) <= QUOTA
