"""Capture: reports of a host's hooks go into the record of sessions.

After the answer, a child without the host's streams redacts and stores, which takes longer than the
hook may. It outlives the hook, and a timer ends it. Failures are logged.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

from base.locks import take_place, wait_turn
from ctxmode.hosts.hooks import session_hooks
from ctxmode.hosts.hooks.hook_event import log
from ctxmode.hosts.registry import find_agent, find_recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.hooks.hook_event import Event
    from memory.sessions import SessionStore

CHILD_S = 20.0
"""Time limit of a child, including its wait for earlier children."""

RECORDED = ("prompt", "act", "compact", "turn", "end")
"""Purposes of events that are recorded. `open` is registered even if sessions are not recorded, so
it records nothing."""

QUEUE_FILE = "hooks.queue"
IMPORT_S = 5.0
STORE_WAIT_S = 5.0
DESCRIPTORS_MAX = 256


def capture(hook: Event, event_name: str) -> None:
    """Record an event in a child process, without waiting for it."""
    if not hook.session or hook.purpose not in RECORDED:
        return
    now = time.time()
    with suppress(OSError):  # no more processes
        sys.stdout.flush()
        sys.stderr.flush()
        os.makedirs(hook.data_dir, mode=0o700, exist_ok=True)
        # Taken before the host gets its answer: the next event's child may be faster than this one.
        place = take_place(os.path.join(hook.data_dir, QUEUE_FILE))
        if os.fork() == 0:
            try:
                _leave_host(place[0])
                wait_turn(*place)
                record(hook, event_name, now)
            finally:
                os._exit(0)


def _leave_host(kept: int) -> None:
    """Leave the host's streams and process group, and set this process's time limit."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.closerange(3, kept)
    os.closerange(kept + 1, DESCRIPTORS_MAX)
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process
    signal.setitimer(signal.ITIMER_REAL, CHILD_S)


def record(hook: Event, event_name: str, now: float) -> None:
    """Record an event, if the project's sessions are recorded; log failures."""
    try:
        _record(hook, event_name, now)
    except Exception as error:
        log(hook, f"{type(error).__name__}: {error}")


def _record(hook: Event, event_name: str, now: float) -> None:
    from ctxmode.config.transcripts import load_recording  # noqa: PLC0415
    from ctxmode.operations.session_sources import find_source  # noqa: PLC0415
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415

    agent = find_agent(hook.host)
    recording = load_recording(hook.project, session_hooks.config_home(hook), hook.environ)
    importer = find_source(agent, recording, hook.home) if recording.events else None
    if importer is None:
        return
    records = find_recorder(hook.host)(hook.event, event_name, hook.session, hook.project, now)
    found = session_hooks.find_transcript(hook, importer, recording.choice(agent))
    with open_session_store(
        session_hooks.sessions_path(hook),
        hook.project,
        hook.home,
        keep_messages=recording.messages,
        wait_s=STORE_WAIT_S,
    ) as store:
        is_due = hook.purpose in ("turn", "end")
        if found and hook.purpose == "prompt" and not _is_changed(found.path, now):
            # The transcript's content is older than the registration of the hooks.
            is_due = not _is_known(store, f"{agent}:{hook.session}")
        if found and is_due:
            deadline = time.monotonic() + IMPORT_S
            store.import_transcript(importer, found, deadline=deadline)
        if len(records) > 1:
            store.record(agent, records, is_from_hooks=True)


def _is_changed(path: str, since: float) -> bool:
    """Return whether a file was written since then; the host does not wait for this child."""
    try:
        return os.path.getmtime(path) > since
    except OSError:
        return True


def _is_known(store: SessionStore, session_id: str) -> bool:
    with store.database.reading() as db:
        row = db.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone()
    return row is not None
