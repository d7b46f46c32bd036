"""Erasing leaves no byte of a text in any file, and the ledger's path, time and "erased"."""

from __future__ import annotations

import pytest

from base.stores.copies import list_copies
from memory.errors import BadInputError
from memory.facts.erasing import erase
from memory.facts.model import UnknownFactError
from memory.facts.restoring import check_store
from memory.facts.store import snapshot_database
from memory.facts.writing import forget, remember
from tests.memory.facts.stores import ADA, PERSON, Clock, draft, ledger, open_facts, standing

DAY = 86_400
WORD = "Zyzzogeton"
STEM = WORD[:8].lower()


def find_words(folder):
    """The files that have a byte of the text, in any case, also as a stem in the index."""
    return {
        path.name
        for path in folder.rglob("*")
        if path.is_file() and STEM.encode() in path.read_bytes().lower()
    }


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    """A store with a fact of the word among others, in its log, and in two snapshots."""
    with open_facts(tmp_path, clock) as opened:
        for n in range(8):
            remember(opened, draft(f"another fact, number {n}"), ADA)
        fields = {"title": f"On {WORD}", "tags": (WORD,), "why": f"{WORD}!", "source": WORD}
        remember(opened, draft(f"The {WORD} sleeps", key="secret", **fields), ADA)
        for _ in range(2):
            clock.now += DAY
            snapshot_database(opened.database, opened.clock())
        remember(opened, draft("The last fact"), ADA)
        yield opened


def test_no_byte_of_an_erased_text_stays(tmp_path, store):
    snapshots = list_copies(tmp_path / "memory.sqlite3")
    names = {one.name for one in snapshots}
    before = find_words(tmp_path)
    assert names <= before  # the positive control
    assert {"memory.sqlite3", "memory.sqlite3-wal"} & before
    erased = erase(store, "secret", PERSON)
    assert erased.paths == ("/memory/general/secret",)
    assert (erased.snapshots, erased.lost_snapshots) == (2, ())
    assert find_words(tmp_path) == set()
    assert len(standing(store)) == 9
    assert {one.name for one in list_copies(tmp_path / "memory.sqlite3")} == names
    last = ledger(store)[-1]
    assert (last.path, last.operation, last.why, last.agent) == (
        *("/memory/general/secret", "erase", "erased", "user"),
    )
    assert check_store(store) == ()


def test_a_snapshot_without_the_text_is_sound_and_has_all_else(tmp_path, clock, store):
    erase(store, "secret", PERSON)
    for snapshot in list_copies(tmp_path / "memory.sqlite3"):
        folder = tmp_path / snapshot.stem
        folder.mkdir()
        (folder / "memory.sqlite3").write_bytes(snapshot.read_bytes())
        with open_facts(folder, clock) as copy:
            assert len(standing(copy)) == 8
            assert check_store(copy) == ()


@pytest.mark.parametrize("is_named_by", ["id", "path"])
def test_a_fact_that_was_retracted_or_replaced_is_erased(tmp_path, store, is_named_by):
    written = next(c for c in ledger(store) if c.path == "/memory/general/secret")
    remember(store, draft("Something else", key="secret"), ADA)
    if is_named_by == "path":
        forget(store, "secret", ADA)
    erase(store, {"id": written.fact_id, "path": written.path}[is_named_by], PERSON)
    assert find_words(tmp_path) == set()
    stays = [fact.text for fact in standing(store) if fact.path == written.path]
    assert stays == (["Something else"] if is_named_by == "id" else [])
    assert check_store(store) == ()


def test_the_same_text_elsewhere_and_on_branches_goes_with_it(tmp_path, store):
    remember(store, draft(f"The {WORD} sleeps", key="again"), ADA)
    with store.database.writing() as db:
        top = db.execute("SELECT max(seq) FROM change").fetchone()[0]
        db.execute("INSERT INTO branch VALUES ('try', 'main', ?, 'open', 0, 'user')", (top,))
    forget(store, "secret", ADA)
    erased = erase(store, "again", PERSON)
    assert set(erased.paths) == {"/memory/general/again", "/memory/general/secret"}
    assert find_words(tmp_path) == set()
    assert all(fact.text for fact in standing(store, "try"))
    assert len(standing(store, "try")) == 9


def test_a_damaged_snapshot_that_cannot_be_searched_is_deleted_and_named(tmp_path, store):
    newest, oldest = list_copies(tmp_path / "memory.sqlite3")
    oldest.write_bytes(b"broken " + WORD.encode() * 2000)
    erased = erase(store, "secret", PERSON)
    assert erased.lost_snapshots == (str(oldest),)
    assert list_copies(tmp_path / "memory.sqlite3") == [newest]
    assert find_words(tmp_path) == set()


def test_erasing_again_changes_nothing_that_stands(tmp_path, store):
    erased = erase(store, "secret", PERSON)
    again = erase(store, erased.ids[0], PERSON)
    assert again.ids == erased.ids
    assert len(standing(store)) == 9
    assert check_store(store) == ()


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ("mem-aaaaaaaa", UnknownFactError),
        ("/memory/general/none", UnknownFactError),
        ("none", UnknownFactError),
        ("", BadInputError),
        (None, BadInputError),
        ("../secret", BadInputError),
        ("/memory/\x00", BadInputError),
        ("%", UnknownFactError),
    ],
)
def test_what_names_no_fact_erases_nothing(store, wanted, error):
    before = ledger(store)
    with pytest.raises(error):
        erase(store, wanted, PERSON)
    assert ledger(store) == before
