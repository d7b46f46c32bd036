"""The verbs `memory check`, `snapshots` and `restore`, as a person calls them."""

import json
import sqlite3
from contextlib import closing

import pytest

from ctxmode import cli
from ctxmode.config.locations import load_config
from tests.memory.facts.damages import DAMAGES


@pytest.fixture
def ask(place, capsys):
    """Run one action; what it prints, as data where --json is said."""

    def run(*words, code=0):
        assert cli.main(["memory", *map(str, words)]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if "--json" in words and not code else shown.out + shown.err

    return run


@pytest.fixture
def file(ask):
    """A file of two facts, of which a daily snapshot has the first."""
    ask("remember", "The first.", "--key", "a")
    path = load_config().facts_file
    (path.parent / "snapshots").mkdir()
    ask("backup", path.parent / "snapshots" / f"{path.stem}-2026-05-29.sqlite3")
    ask("remember", "The second.", "--key", "b")
    for copy in (path.parent / "snapshots").glob("*"):
        if "2026-05-29" not in copy.name:
            copy.unlink()
    return path


def texts(ask):
    return [one["text"] for one in ask("list", "--json")["facts"]]


@pytest.mark.parametrize("damage", DAMAGES)
def test_x13_a_damaged_file_says_how_it_is_restored_and_is(ask, file, damage):
    damage(file)
    assert "`context-mode memory restore --last`" in ask("list")
    assert "nothing is written" in ask("remember", "A third.", code=1)
    told = ask("restore", "--last")
    assert "Restored 1 fact" in told
    assert "Later changes are lost" in told or "There was no previous file" in told
    assert texts(ask) == ["The first."]
    ask("remember", "A third.")
    assert len(texts(ask)) == 2


def test_snapshots_are_named_with_their_age_and_number_of_facts(ask, file):
    (told,) = ask("snapshots", "--json")["snapshots"]
    assert (told["name"], told["facts"], told["changes"], told["problem"]) == (
        "2026-05-29",
        1,
        1,
        "",
    )
    assert "2026-05-29  as of 2" in ask("snapshots")
    assert "1 fact, 1 line of the ledger" in ask("snapshots")
    file.with_name("snapshots").joinpath(f"{file.stem}-2026-05-28.sqlite3").write_text("no copy")
    assert "2026-05-28  cannot be restored: " in ask("snapshots")


def test_what_is_lost_is_told_and_the_way_back_works(ask, file):
    told = ask("restore", "2026-05-29")
    assert "Lost, with 1 line of the ledger, at these paths:\n  /memory/general/b" in told
    assert texts(ask) == ["The first."]
    back = told.rpartition("To go back: context-mode memory ")[2].split()
    assert "Restored to earlier versions" in ask(*back)
    assert texts(ask) == ["The first.", "The second."]


def test_the_users_own_file_is_copied_and_restored_by_its_scope(ask, tmp_path):
    ask("remember", "Of mine.", "--scope", "user", "--key", "mine")
    copy = tmp_path / "mine.sqlite3"
    ask("backup", copy, "--scope", "user")
    assert "no facts yet" in ask("backup", tmp_path / "x", code=2)
    path = load_config().users_facts_file
    path.write_bytes(b"no database")
    assert "`context-mode memory restore --scope user FILE`" in ask("list", code=1)
    ask("restore", copy, "--scope", "user")
    assert texts(ask) == ["Of mine."]
    assert ask("snapshots", "--json")["snapshots"] == []
    assert len(ask("snapshots", "--scope", "user", "--json")["snapshots"]) == 1


def test_a_new_machine_begins_with_a_backup(ask, tmp_path, monkeypatch):
    ask("remember", "Of before.", "--key", "a")
    ask("backup", tmp_path / "mine.sqlite3")
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "new"))
    assert texts(ask) == []
    assert "There was no previous file." in ask("restore", tmp_path / "mine.sqlite3")
    assert texts(ask) == ["Of before."]


@pytest.mark.parametrize(
    "words",
    [(), ("",), ("nope",), ("--last", "2026-05-29"), ("--last", "--branch", "x"), ("../x",)],
)
def test_x12_a_restore_of_nothing_is_refused_and_leaves_the_file(ask, file, words):
    assert "Traceback" not in ask("restore", *words, code=2)
    assert texts(ask) == ["The first.", "The second."]


def test_a_broken_or_empty_snapshot_is_refused(ask, file, tmp_path):
    copy = file.with_name("snapshots") / f"{file.stem}-2026-05-29.sqlite3"
    with closing(sqlite3.connect(copy)) as db, db:
        db.execute("DELETE FROM live")
        db.execute("DELETE FROM change")
    db.close()
    assert "has no facts" in ask("restore", "2026-05-29", code=2)
    assert "no snapshot that can be restored" in ask("restore", "--last", code=2)
    copy.write_bytes(b"\0" * 8192)
    assert "is damaged" in ask("restore", "2026-05-29", code=2)
    assert texts(ask) == ["The first.", "The second."]


def test_a_check_finds_what_differs_from_the_ledger_and_mends_it(ask, file):
    assert f"{file}: no problems found." in ask("check")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM live WHERE path LIKE '%/a'")
    db.close()
    told = ask("check", code=1)
    assert "/memory/general/a: main has None" in told
    assert told.endswith("Try: context-mode memory check --repair\n")
    told = ask("check", "--mend", "--json")
    assert (told["ok"], told["mended"]) == (False, True)
    assert texts(ask) == ["The first.", "The second."]
    assert ask("check", "--mend", "--json") == {
        "ok": True, "mended": False, "problems": {str(file): []}
    }  # fmt: skip


def test_a_check_of_a_damaged_file_says_what_restores_it(ask, file):
    file.write_bytes(b"no database")
    assert "Try: context-mode memory restore --last" in ask("check", code=1)
    assert "nothing is written" in ask("check", "--mend", code=1)


def test_where_nothing_is_remembered_there_is_nothing_to_check(ask):
    assert ask("check").startswith("No facts")
    assert "No snapshots yet" in ask("snapshots")
