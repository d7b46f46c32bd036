"""Many processes in one file, processes that die, disks that are full or read-only."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import kb.model
from kb import SearchState, Store
from kb.model import SourceSpec
from kb.schema import STEPS

WRITER = """
import sys
from pathlib import Path
from kb import SourceSpec, Store
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with Store.open(path) as store:
    for n in range(count):
        text = f"common text number{n} of writer{name}\\n".encode() * 30
        added = store.add(SourceSpec(f"{name} {n}"), text)
        store.add(SourceSpec("shared"), f"version by writer{name} number {n}".encode())
        print(added.source_id, flush=True)
"""
READER = """
import sys
from pathlib import Path
from kb import Store
with Store.open(Path(sys.argv[1])) as store:
    for n in range(int(sys.argv[2])):
        (result,) = store.search(f"common number{n % 5}")
        for hit in result.hits:
            assert store.text(hit.source_id, hit.start_byte, hit.end_byte).decode() == hit.text
print("done")
"""


def start(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> list[str]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()
    return output.decode().split()


def test_eight_writers_and_four_readers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    writers = [start(WRITER, path, f"w{n}", 12) for n in range(8)]
    readers = [start(READER, path, 40) for _ in range(4)]
    acknowledged = [int(line) for writer in writers for line in finish(writer)]
    assert all(finish(reader) == ["done"] for reader in readers)
    with Store.open(path) as store:
        kept = {source.id for source in store.sources(include_superseded=True)}
        assert set(acknowledged) <= kept
        assert len(acknowledged) == 8 * 12
        versions = [
            s.version for s in store.sources(include_superseded=True) if s.label == "shared"
        ]
        assert sorted(versions) == list(range(1, 8 * 12 + 1))
        assert len(store.search("writerw3", limit=20)[0].hits) >= 12
        assert store.check() == ()


def test_what_was_acknowledged_survives_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    chance = random.Random(7)
    acknowledged: list[int] = []
    for round_number in range(8):
        writer = start(WRITER, path, f"r{round_number}", 10_000)
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 25)):
            acknowledged.append(int(writer.stdout.readline()))
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=60)
    with Store.open(path) as store:
        kept = {source.id for source in store.sources(include_superseded=True)}
        assert set(acknowledged) <= kept
        for source_id in acknowledged:
            assert store.source(source_id).complete
            assert b"common text" in store.text(source_id)
        assert store.check() == ()


def test_a_full_disk_is_a_clear_error_and_what_was_kept_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path) as store:
        store.add(SourceSpec("before"), b"apples are kept")
    program = """
import resource, signal, sys
from pathlib import Path
import kb
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with kb.Store.open(Path(sys.argv[1])) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    try:
        for n in range(200):
            store.add(kb.SourceSpec(f"large {n}"), f"pears {n} ".encode() * 5000)
    except kb.model.StoreFullError as error:
        print("full" if "purge old sources" in str(error) or "full" in str(error) else error)
    print(len(store.search("apples")[0].hits))
"""
    assert finish(start(program, path)) == ["full", "1"]
    with Store.open(path) as store:
        assert store.check() == ()


def test_a_read_only_file_is_searched_but_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path) as store:
        store.add(SourceSpec("a"), b"apples")
    # Root may write whatever the mode says, so the question itself is answered here.
    monkeypatch.setattr("kb.access.os.access", lambda path, mode: mode != os.W_OK)
    with Store.open(path) as store:
        assert "read-only" in store.notices[0]
        assert store.search("apples")[0].hits
        with pytest.raises(kb.model.StoreReadOnlyError, match="make it writable"):
            store.add(SourceSpec("b"), b"pears")
        assert store.check() == ()


def test_damage_inside_the_file_is_reported_and_indexes_are_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path) as store:
        for n in range(5):
            store.add(SourceSpec(f"a{n}"), b"apples and pears\n" * 100)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM chunk_fts_data WHERE id > 10")
    db.close()
    with Store.open(path) as store:
        assert store.check()
        assert store.repair() == ()
        assert len(store.search("apples")[0].hits) > 0


@pytest.mark.parametrize(
    ("version", "advice"), [(len(STEPS) + 1, "update this program"), (0, "move the file away")]
)
def test_a_file_of_another_release_is_refused_not_touched(
    tmp_path: Path, version: int, advice: str
) -> None:
    path = tmp_path / "kb.db"
    with Store.open(path) as store:
        store.add(SourceSpec("a"), b"apples")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(kb.model.StoreUnavailableError, match=advice):
        Store.open(path)
    assert not list(tmp_path.glob("*.corrupt-*"))
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute("SELECT label FROM source").fetchall() == [("a",)]
    db.close()


def test_a_spool_that_vanished_leaves_its_source_incomplete(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_bytes(b"line of text\n" * 10_000)
    with Store.open(tmp_path / "kb.db") as store:
        added = store.add_spool(
            SourceSpec("run", origin="run"), spool, head_bytes=1000, tail_bytes=1000
        )
        spool.unlink()
        store.index_pending()
        assert not store.source(added.source_id).complete
        assert store.stats()["pending_bytes"] == 0


def test_a_queued_source_that_is_superseded_is_still_indexed_as_history(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    lines = [f"line{n} word\n".encode() for n in range(5000)]
    spool.write_bytes(b"".join(lines))
    with Store.open(tmp_path / "kb.db") as store:
        old = store.add_spool(
            SourceSpec("run", origin="run", kind="text"), spool, head_bytes=1000, tail_bytes=1000
        )
        store.add(SourceSpec("run"), b"newer")
        while store.index_pending():
            pass
        assert store.search("line2500")[0].state is SearchState.NO_MATCH
        (hit, *_) = store.search("line2500", include_superseded=True)[0].hits
        assert hit.source_id == old.source_id
        assert store.check() == ()
