"""Imports that are killed at random moments and begun anew leave the rows of one clean import."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time

import pytest

from benchmarks.transcripts import write_transcript
from ctxmode.config.file_names import SESSIONS_SUFFIX, STORES_FOLDER, name_stores
from tests.memory.sessions.claude_records import dump, open_store

SESSION = "0b8f7c9e-1111-4222-8333-444455556666"
KILLS = 20
BYTES = 20 << 20


@pytest.fixture
def transcript(place):
    (place.project / ".git").mkdir()
    settings = place.home / ".config" / "ctxmode" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[transcripts]\nkeep_days = 3650\n")  # what is made up is of one day
    folder = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(place.project))
    path = place.home / ".claude" / "projects" / folder / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(path, BYTES, session=SESSION, cwd=str(place.project))
    return path


def start(place, kind, transcript):
    """Start what reads the transcript: the verb, or a bell."""
    verb = {"track": ["sessions", "track"], "bell": ["hook", "claude-code", "PreCompact"]}[kind]
    process = subprocess.Popen(
        [*place.command, *verb], cwd=place.project, env=place.environment,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    told = {"session_id": SESSION, "transcript_path": str(transcript), "trigger": "auto"}
    process.stdin.write(json.dumps(told).encode() if kind == "bell" else b"")
    process.stdin.close()
    process.stdin = None
    return process


def finish(place, kind, transcript):
    """Run it again until all is read."""
    for _ in range(200):
        process = start(place, kind, transcript)
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, b"")
        told = json.loads(place.run("sessions", "status", "--json").stdout)
        if sum(host["behind_bytes"] for host in told["hosts"]) == 0:
            return
    raise AssertionError("it is never read to its end")


def store_of(place):
    name = name_stores(str(place.project.resolve())) + SESSIONS_SUFFIX
    return place.data / STORES_FOLDER / name


def forget(place):
    """Delete the store and its daily copies."""
    for entry in store_of(place).parent.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def rows_of(place):
    with open_store(store_of(place)) as store:
        return dump(store, but=("source", "snapshot"))


@pytest.mark.parametrize("kind", ["track", "bell"])
def test_killed_at_random_moments_it_leaves_the_rows_of_a_clean_import(kind, place, transcript):
    assert place.run("sessions", "track").returncode == 0
    clean = rows_of(place)
    assert len(clean["message"]) > 1000
    forget(place)
    chance, killed = random.Random(kind), 0
    while killed < KILLS:
        process = start(place, kind, transcript)
        time.sleep(chance.uniform(0.0, 0.6))  # the moment is what is random here
        process.kill()
        process.communicate(timeout=60)
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:  # it was over before: the next has all to read again
            forget(place)
    finish(place, kind, transcript)
    assert rows_of(place) == clean
    checked = json.loads(place.run("sessions", "check", "--json").stdout)
    assert checked["problems"] == []
