"""Hooks for the record of sessions, as hosts ring them, where something is in the way: they exit 0,
say nothing, are done in time, and work again once it is gone."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from benchmarks.transcripts import write_transcript
from ctxmode.config.file_names import SESSIONS_SUFFIX, STORES_FOLDER, name_stores
from ctxmode.hosts.hooks.hook_event import LOG_FILE
from ctxmode.hosts.hooks.session_hooks import DEADLINES_S

SESSION = "0b8f7c9e-1111-4222-8333-444455556666"
START_S = 10.0
"""What a process takes to start on a busy machine, beyond the bell's own deadline."""

EVENTS = {"PreCompact": "compact", "SessionStart": "open", "SessionEnd": "end"}
MOUNTED = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; shift; exec "$@"'


@dataclass
class Ringing:
    """A place with a transcript, and how hooks are rung in it."""

    place: object
    wrapper: list[str] = field(default_factory=list)
    limit: int = 0
    number: int = 0

    @property
    def transcript(self):
        return self.place.home / ".claude" / f"{SESSION}.jsonl"

    @property
    def store(self):
        name = name_stores(str(self.place.project.resolve())) + SESSIONS_SUFFIX
        return self.place.data / STORES_FOLDER / name

    def grow(self, bytes_min=60_000):
        self.number += 1
        self.transcript.parent.mkdir(exist_ok=True)
        cwd = str(self.place.project)
        write_transcript(self.transcript, bytes_min, session=SESSION, cwd=cwd, seed=self.number)

    def start(self, event, **fields):
        told = {"session_id": SESSION, "transcript_path": str(self.transcript), **fields}
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (self.limit, self.limit))
        hook = subprocess.Popen(
            [*self.wrapper, *self.place.command, "hook", "claude-code", event],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.place.environment, cwd=self.place.project,
            preexec_fn=limit if self.limit else None,  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        hook.stdin.write(json.dumps(told).encode())
        hook.stdin.close()
        hook.stdin = None
        return hook

    def finish(self, hook):
        """Wait for a hook, which says nothing; return what it prints."""
        out, err = hook.communicate(timeout=60)
        if hook.returncode == 77 or err.startswith(b"unshare:"):
            pytest.skip("not applicable: no file system can be mounted here")
        assert (hook.returncode, err) == (0, b"")
        return out

    def ring(self, event, **fields):
        """Ring, and return what the agent is told of the session, past what it is told always."""
        began = time.monotonic()
        out = self.finish(self.start(event, **fields))
        assert time.monotonic() - began < DEADLINES_S[EVENTS[event]] + START_S
        if event != "SessionStart":
            assert out == b""
            return ""
        told = json.loads(out)["hookSpecificOutput"]["additionalContext"]
        return told[told.find("context-mode: records") :] if "context-mode: records" in told else ""

    def count(self):
        with closing(sqlite3.connect(self.store)) as db:
            return db.execute("SELECT COUNT(*) FROM message").fetchone()[0]

    @property
    def log(self):
        path = self.place.data / "logs" / LOG_FILE
        return path.read_text() if path.exists() else ""


@pytest.fixture
def ringing(place):
    (place.project / ".git").mkdir()
    ringing = Ringing(place)
    ringing.grow()
    ringing.ring("PreCompact", trigger="auto")
    assert ringing.count() > 10  # the positive control: nothing is in the way
    assert ringing.ring("SessionStart", source="compact")
    assert ringing.log == ""
    ringing.grow()
    return ringing


@contextmanager
def locked(ringing):
    with closing(sqlite3.connect(ringing.store, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


@contextmanager
def full(ringing):
    ringing.limit = 4096
    yield
    ringing.limit = 0


@contextmanager
def damaged(ringing):
    good = ringing.store.read_bytes()
    ringing.store.write_bytes(b"no database" + good[11:2000] + b"\xff" * (len(good) - 2000))
    yield


@contextmanager
def read_only(ringing):
    own = ["--map-root-user"] if os.geteuid() else []
    folder = str(ringing.place.data)
    ringing.wrapper = ["unshare", "--mount", *own, "sh", "-c", MOUNTED, "sh", folder]
    yield
    ringing.wrapper = []


@contextmanager
def a_folder(ringing):
    aside = ringing.store.with_suffix(".aside")
    ringing.store.rename(aside)
    ringing.store.mkdir()
    yield
    ringing.store.rmdir()
    aside.rename(ringing.store)


@contextmanager
def instead(make, ringing):
    """Something else stands where the transcript was."""
    aside = ringing.transcript.with_suffix(".aside")
    ringing.transcript.rename(aside)
    make(ringing.transcript)
    yield
    if ringing.transcript.is_dir():
        ringing.transcript.rmdir()
    else:
        ringing.transcript.unlink(missing_ok=True)
    aside.rename(ringing.transcript)


HARMS = {
    "the store is locked": locked,
    "the disk is full": full,
    "the store is damaged": damaged,
    "the storage is read-only": read_only,
    "a folder is in the store's place": a_folder,
    "the transcript is gone": partial(instead, lambda path: None),
    "the transcript is a pipe": partial(instead, os.mkfifo),
    "the transcript is a folder": partial(instead, os.mkdir),
    "the transcript is unreadable": partial(instead, lambda path: path.touch(mode=0)),
    "the transcript is a link in a circle": partial(instead, lambda path: path.symlink_to(path)),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_bell_is_silent_and_in_time_where(harm, ringing):
    with HARMS[harm](ringing):
        for event, fields in (
            ("PreCompact", {"trigger": "auto"}),
            ("SessionStart", {"source": "compact"}),
            ("SessionStart", {"source": "startup"}),
            ("SessionEnd", {"reason": "exit"}),
        ):
            ringing.ring(event, **fields)
    if "transcript" not in harm and "damaged" not in harm:
        assert "read-only" in harm or ringing.log.count("\n") >= 1
    ringing.grow()
    ringing.ring("PreCompact", trigger="auto")
    assert ringing.count() > 20  # what was missed is read, too
    assert ringing.ring("SessionStart", source="compact")


def test_a_bell_is_silent_where_the_store_goes_while_it_reads(ringing):
    for file in ringing.store.parent.iterdir():
        file.unlink()
    ringing.grow(12 << 20)
    hook = ringing.start("PreCompact", trigger="auto")
    ends_at = time.monotonic() + 30
    while not ringing.store.exists() and hook.poll() is None and time.monotonic() < ends_at:
        time.sleep(0.001)
    shutil.rmtree(ringing.store.parent)
    assert ringing.finish(hook) == b""
    ringing.ring("SessionEnd")
    ringing.ring("PreCompact", trigger="auto")
    assert ringing.count() > 20


def test_an_event_of_any_form_is_passed_over(ringing):
    for event in (
        {"session_id": 5},
        {"session_id": "a" * 100_000, "source": "compact"},
        {"session_id": "../../x", "transcript_path": "relative"},
        {"session_id": "\0", "transcript_path": "/\0"},
        {"session_id": "\ud800", "transcript_path": "/\ud800"},
        {"session_id": [], "transcript_path": {}, "cwd": []},
        {"session_id": SESSION, "transcript_path": "/dev/zero"},
        {"session_id": SESSION, "transcript_path": "/proc/self/mem"},
    ):
        for name in EVENTS:
            ringing.ring(name, **event)
