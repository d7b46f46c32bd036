"""Capture: what a host's hooks report goes into the record of sessions, after its answer.

First the answer is given. Then a child without the host's streams redacts and stores, which takes
longer than the hook may; it outlives the hook, and a timer ends it. Whatever fails is logged.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

from base.locks import take_place, wait_turn
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.hooks import bells
from ctxmode.hosts.hooks.bell import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.hooks.bell import Bell
    from memory.sessions import SessionStore

CHILD_S = 20.0
"""How long a child may take, with the time in which it waits for those before it."""

RECORDED = ("prompt", "act", "compact", "turn", "end")
"""Events with something to record. A beginning is registered without the record of sessions, too:
it leaves nothing."""

QUEUE_FILE = "hooks.queue"
IMPORT_S = 5.0
STORE_WAIT_S = 5.0
DESCRIPTORS_MAX = 256


def capture(bell: Bell, event_name: str) -> None:
    """Record what an event tells in a child, and do not wait for it."""
    if not bell.session or bell.purpose not in RECORDED:
        return
    now = time.time()
    with suppress(OSError):  # no more processes
        sys.stdout.flush()
        sys.stderr.flush()
        os.makedirs(bell.data_dir, mode=0o700, exist_ok=True)
        # Before the host has its answer: the next event's child may be quicker than this one's.
        place = take_place(os.path.join(bell.data_dir, QUEUE_FILE))
        if os.fork() == 0:
            try:
                _leave_host(place[0])
                wait_turn(*place)
                record(bell, event_name, now)
            finally:
                os._exit(0)


def _leave_host(kept: int) -> None:
    """Give up the host's streams and its process group, and set the time by which this ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.closerange(3, kept)
    os.closerange(kept + 1, DESCRIPTORS_MAX)
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # nothing catches it
    signal.setitimer(signal.ITIMER_REAL, CHILD_S)


def record(bell: Bell, event_name: str, now: float) -> None:
    """Record what an event tells, if the project's sessions are recorded; failures are logged."""
    try:
        _record(bell, event_name, now)
    except Exception as error:
        log(bell, f"{type(error).__name__}: {error}")


def _record(bell: Bell, event_name: str, now: float) -> None:
    from ctxmode.config.transcripts import load_recording  # noqa: PLC0415
    from ctxmode.hosts.hooks.hook_records import list_records  # noqa: PLC0415
    from ctxmode.operations.session_sources import find_source  # noqa: PLC0415
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415

    agent = AGENTS[bell.host]
    recording = load_recording(bell.project, bells.config_home(bell), bell.environ)
    importer = find_source(agent, recording, bell.home) if recording.events else None
    if importer is None:
        return
    records = list_records(bell.event, event_name, bell.session, bell.project, now)
    found = bells.find_transcript(bell, importer, recording.choice(agent))
    with open_session_store(
        bells.sessions_path(bell),
        bell.project,
        bell.home,
        keep_messages=recording.messages,
        wait_s=STORE_WAIT_S,
    ) as store:
        is_due = bell.purpose in ("turn", "end")
        if found and bell.purpose == "prompt" and not _is_changed(found.path, now):
            # What the transcript has is of before the hooks were registered.
            is_due = not _is_known(store, f"{agent}:{bell.session}")
        if found and is_due:
            deadline = time.monotonic() + IMPORT_S
            store.import_transcript(importer, found, deadline=deadline)
        if len(records) > 1:
            store.record(agent, records, is_from_hooks=True)


def _is_changed(path: str, since: float) -> bool:
    """Tell whether a file was written since then, as the host does not wait for this child."""
    try:
        return os.path.getmtime(path) > since
    except OSError:
        return True


def _is_known(store: SessionStore, session_id: str) -> bool:
    with store.database.reading() as db:
        row = db.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone()
    return row is not None
