"""Capture: reports of a host's hooks go into the record of sessions.

After the answer, a child without the host's streams redacts and stores, which takes longer than the
hook may. It outlives the hook, and a timer ends it. Failures are logged.
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

# Fields according to cursor.com/docs/hooks. `tool_use_id` identifies a call and `generation_id` a
# prompt, so that hooks that are registered twice count once.

_DENIED = ("permission_denied", "denied", "rejected")


def list_records(
    event: Mapping[str, Any], event_name: str, session: str, folder: str, now: float
) -> list[Record]:
    """List the records of an event: the session, and what happened in it."""
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
    """Read the text and the exit code of a result: JSON text, for a shell with both."""
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

    agent = AGENTS[hook.host]
    recording = load_recording(hook.project, session_hooks.config_home(hook), hook.environ)
    importer = find_source(agent, recording, hook.home) if recording.events else None
    if importer is None:
        return
    records = list_records(hook.event, event_name, hook.session, hook.project, now)
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
