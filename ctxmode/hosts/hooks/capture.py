"""Capture: what a host's hooks report goes into the record of sessions, after its answer.

First the answer is given. Then a child without the host's streams redacts and stores, which takes
longer than the hook may; it outlives the hook, and a timer ends it. Whatever fails is logged.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from base.locks import take_place, wait_turn
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.hooks import session_hooks
from ctxmode.hosts.hooks.hook_event import log
from memory.sessions import CompactionRecord, MessageRecord, Record, SessionRecord
from memory.sessions.importers import cursor, untrusted_json

# Fields by cursor.com/docs/hooks. A call is known by its `tool_use_id`, a prompt by its
# `generation_id`, so that hooks that are registered twice count once.

_DENIED = ("permission_denied", "denied", "rejected")


def list_records(
    event: Mapping[str, Any], event_name: str, session: str, folder: str, now: float
) -> list[Record]:
    """List what an event tells: the session, and what happened in it."""
    begin = SessionRecord(
        session,
        agent_version=untrusted_json.first_text(event, "cursor_version"),
        working_directory=folder,
    )
    return [begin, *_READERS.get(event_name, _nothing)(event, now)]


def _prompt(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    own, _ = cursor.part_prompt(untrusted_json.text(event.get("prompt")))
    key = f"prompt:{untrusted_json.first_text(event, 'generation_id') or now}"
    kinds = (
        untrusted_json.first_text(one, "type")
        for one in untrusted_json.objects(event.get("attachments"))
    )
    images = sum(kind == "image" for kind in kinds)
    if own or images:
        yield MessageRecord(key, key, "user", own, now, is_prompt=True, images=images)


def _call(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tool, given = cursor.name_call(
        untrusted_json.text(event.get("tool_name")), untrusted_json.params(event.get("tool_input"))
    )
    if tool.startswith("MCP:"):
        tool = f"mcp__{tool.removeprefix('MCP:')}"
    if not tool:
        return
    call = f"call:{untrusted_json.first_text(event, 'tool_use_id') or now}"
    model = untrusted_json.text(event.get("model"))
    subagent = (
        untrusted_json.first_text(untrusted_json.fields(given), "subagent_type")
        if tool == "Task"
        else ""
    )
    yield MessageRecord(
        call, call, "tool_call", at=now, tool=tool, params=given, call_id=call, model=model,
        subagent=subagent,
    )  # fmt: skip
    said, exit_code = _read_output(event.get("tool_output"))
    problem = untrusted_json.text(event.get("error_message"))
    is_denied = untrusted_json.text(event.get("failure_type")) in _DENIED
    failed = event.get("hook_event_name") == "postToolUseFailure" or bool(problem)
    yield MessageRecord(
        f"{call}:result", f"{call}:result", "tool_result", problem or said, now, tool=tool,
        call_id=call, failed=(failed or bool(exit_code)) and not is_denied,
        exit_code=None if is_denied else exit_code, is_denied=is_denied,
    )  # fmt: skip


def _failure(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    return _call({**event, "hook_event_name": "postToolUseFailure"}, now)


def _read_output(output: object) -> tuple[str, int | None]:
    """Read the text and the exit code of a result: JSON as a text, of a shell with both."""
    given = untrusted_json.params(output)
    if not isinstance(given, Mapping):
        return untrusted_json.text(output), None
    ended = untrusted_json.code(given.get("exitCode"))
    ended = untrusted_json.code(given.get("exit_code")) if ended is None else ended
    streams = (
        untrusted_json.first_text(given, name) for name in ("stdout", "output", "stderr", "error")
    )
    said = "\n".join(filter(None, streams))
    return said or untrusted_json.text(output) or json.dumps(given, ensure_ascii=False), ended


def _compaction(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tokens = event.get("context_tokens")
    before = tokens if isinstance(tokens, int) and 0 <= tokens < 1 << 40 else None
    key = untrusted_json.first_text(event, "generation_id") or str(now)
    yield CompactionRecord(
        key, now, untrusted_json.first_text(event, "trigger"), tokens_before=before
    )


def _nothing(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    yield from ()


_READERS = {
    "beforeSubmitPrompt": _prompt,
    "postToolUse": _call,
    "postToolUseFailure": _failure,
    "preCompact": _compaction,
}


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxmode.hosts.hooks.hook_event import Bell
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
    from ctxmode.operations.session_sources import find_source  # noqa: PLC0415
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415

    agent = AGENTS[bell.host]
    recording = load_recording(bell.project, session_hooks.config_home(bell), bell.environ)
    importer = find_source(agent, recording, bell.home) if recording.events else None
    if importer is None:
        return
    records = list_records(bell.event, event_name, bell.session, bell.project, now)
    found = session_hooks.find_transcript(bell, importer, recording.choice(agent))
    with open_session_store(
        session_hooks.sessions_path(bell),
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
