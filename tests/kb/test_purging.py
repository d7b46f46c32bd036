"""A purge of most of a store leaves what a purge bit by bit would leave, also when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kb import SearchState, Store, purging
from kb.model import SourceSpec

KEPT = b"giraffes and zebras, pinned for good\n"
GONE = [f"elephant number{n} walks to waterhole{n}\n".encode() * 60 for n in range(6)]

KILLED = """
import os, signal, sys
from pathlib import Path
from kb import Store

def kill(statement):
    if statement.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

with Store.open(Path(sys.argv[1])) as store:
    with store.access.exclusively() as db:
        db.set_trace_callback(kill)
    store.purge(everything=True)
"""


def filled(path: Path) -> Store:
    """A store with something superseded, something pinned, and more that is neither."""
    store = Store.open(path)
    store.add(SourceSpec("kept", pinned=True), b"an older okapi version of giraffes\n")
    store.add(SourceSpec("kept", pinned=True), KEPT)
    for n, text in enumerate(GONE):
        store.add(SourceSpec(f"gone {n}"), text)
    return store


def content(store: Store) -> list[list[tuple[object, ...]]]:
    """All that the tables hold, the full-text indexes by their terms."""
    with store.access.reading() as db:
        return [
            db.execute(statement).fetchall()
            for statement in (
                "SELECT id, label, version, superseded_by, bytes_indexed FROM source ORDER BY id",
                "SELECT * FROM chunk ORDER BY id",
                "SELECT text FROM word ORDER BY text",
                "SELECT term, doc, cnt FROM chunk_term ORDER BY term",
                "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH 'giraffes OR elephant'",
                "SELECT rowid FROM history_fts WHERE history_fts MATCH 'giraffes OR elephant'",
                "SELECT text FROM word_fts WHERE word_fts MATCH 'zeb'",
            )
        ]


@pytest.mark.parametrize("purged", [{"everything": True}, {"source": "gone"}, {"kind": "text"}])
def test_both_ways_of_purging_leave_the_same(tmp_path: Path, purged: dict[str, object]) -> None:
    with filled(tmp_path / "most.db") as most, filled(tmp_path / "bits.db") as bits:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                purging, "_keep_only", lambda db, kept, chosen: purging._take_out(db, chosen)
            )
            apart = bits.purge(**purged)
        assert most.purge(**purged) == apart
        assert content(most) == content(bits)
        assert most.check() == ()


@pytest.mark.parametrize("name", ["source", "kind", "session"])
def test_a_filter_is_read_as_what_it_names_was_stored(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / "kb.db") as store:
        store.add(SourceSpec("\udc80 a", session="\udc80 a"), b"text")
        assert store.purge(**{name: "\udc81 no"}).sources == 0
        found = store.purge(**{name: "\udc80 a"}).sources
    assert found == (0 if name == "kind" else 1)


def test_a_purge_of_all_but_what_is_pinned_keeps_its_words_and_history(tmp_path: Path) -> None:
    with filled(tmp_path / "kb.db") as store:
        assert store.purge(everything=True).sources == len(GONE)
        assert store.search("girafes")[0].corrections[0][1] == "giraffes"
        assert store.search("elephant")[0].state is SearchState.NO_MATCH
        assert not store.search("elefant")[0].corrections
        assert store.search("okapi")[0].state is SearchState.NO_MATCH
        assert store.search("okapi", include_superseded=True)[0].hits
        assert store.add(SourceSpec("next"), b"more").source_id > 2 + len(GONE)


def test_the_file_shrinks_to_what_an_empty_one_takes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db") as empty, filled(tmp_path / "kb.db") as store:
        empty.checkpoint()
        store.purge(everything=True, pinned=True)
        assert store.stats()["sources"] == 0
        assert store.stats()["file_bytes"] <= empty.stats()["file_bytes"] + 16_384
        assert b"elephant" not in store.path.read_bytes()


@pytest.mark.parametrize(
    ("statement", "is_done"),
    [
        ("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')", False),
        ("DELETE FROM word", False),
        ("DELETE FROM source", False),
        ("INSERT INTO chunk_fts (rowid", False),
        ("INSERT OR IGNORE INTO word", False),
        ("COMMIT", False),
        ("INSERT INTO chunk_fts (chunk_fts) VALUES ('optimize')", True),
        ("VACUUM", True),
        ("PRAGMA wal_checkpoint(TRUNCATE)", True),
    ],
)
def test_a_kill_leaves_all_or_what_is_kept(tmp_path: Path, statement: str, is_done: bool) -> None:
    path = tmp_path / "kb.db"
    filled(path).close()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), statement],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        timeout=300,
    )
    assert killed.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        assert store.check() == ()
        left = {source.label for source in store.sources()}
        assert left == {"kept"} if is_done else left == {"kept", *(f"gone {n}" for n in range(6))}
        assert bool(store.search("elephant")[0].hits) is not is_done
        assert store.search("giraffes")[0].hits[0].text == KEPT.decode()
        assert store.search("girafes")[0].corrections[0][1] == "giraffes"


def test_what_others_add_meanwhile_stays(tmp_path: Path) -> None:
    with filled(tmp_path / "kb.db") as store, Store.open(tmp_path / "kb.db") as other:
        with pytest.MonkeyPatch.context() as patch:
            compact = purging.compact
            patch.setattr(
                purging,
                "compact",
                lambda db: (other.add(SourceSpec("new"), b"flamingos\n"), compact(db)),
            )
            store.purge(everything=True)
        assert other.search("flamingos")[0].hits
        assert store.search("flamngos")[0].corrections[0][1] == "flamingos"
        assert store.check() == ()
