"""What doctor says of facts."""

import sqlite3
from contextlib import closing

import pytest

from ctxmode.commands.doctor import remedies
from ctxmode.doctor.diagnosis import Diagnosis, PartHealth, check_facts
from ctxmode.operations.facts import open_memory
from ctxmode.render.health import doctor_text, facts_lines
from executor import Isolation
from memory.facts.model import Draft
from memory.facts.store import snapshot_database

FINE = PartHealth(True, "fine")


def diagnose(health):
    return Diagnosis("/p", {}, Isolation("A"), FINE, FINE, facts=health)


@pytest.fixture
def kept(config):
    """A project of one fact, with a snapshot."""
    with open_memory(config, to_write="project") as memory:
        memory.remember(Draft("one", key="a"))
        snapshot_database(memory.project.database, memory.project.clock())
    return config


def test_a_project_without_facts_has_none_and_no_file_is_made(config):
    assert facts_lines(check_facts(config)) == ["facts: 0 of the project, 0 of the user"]
    assert not config.facts_file.exists()


def test_facts_are_counted_and_sound(kept):
    health = check_facts(kept)
    assert "facts: 1 of the project, 0 of the user" in doctor_text(diagnose(health))
    assert diagnose(health).to_json()["facts"]["facts"] == 1
    assert remedies(diagnose(health)) == ()


def test_what_differs_from_the_ledger_is_told_with_what_mends_it(kept):
    with closing(sqlite3.connect(kept.facts_file)) as db, db:
        db.execute("DELETE FROM live")
    db.close()
    health = check_facts(kept)
    assert facts_lines(health)[0].startswith("facts: problem found: ")
    assert [(one["part"], one["command"]) for one in remedies(diagnose(health))] == [
        ("facts", "context-mode memory check --repair")
    ]
    assert diagnose(health).critical == diagnose(None).critical


def test_a_damaged_file_is_told_with_what_restores_it(kept):
    kept.facts_file.write_bytes(b"no database")
    health = check_facts(kept)
    assert "damaged or missing" in facts_lines(health)[0]
    assert health["remedy"].command == "context-mode memory restore --last"
    for copy in (kept.facts_file.parent / "snapshots").glob("*.sqlite3"):
        copy.unlink()
    health = check_facts(kept)
    assert "has no snapshot" in facts_lines(health)[0]
    assert "memory restore FILE" in health["remedy"]
