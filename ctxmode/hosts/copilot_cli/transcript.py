"""Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, one event per line.

Seen with 1.0.102; names of events that were not driven are those of `session-events.schema.json` in
its package. An event with `agentId` is a subagent's, which gets its own session here.

Tokens: a `session.usage_record` is one call of a model, identified by its accounting's source and
number; cached tokens are within the input, reasoning within the output. Releases without these
records have output tokens in `assistant.message`, and the rest as sums in `session.shutdown`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from base.host_homes import find_place
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import (
    call_record,
    list_files,
    open_call,
    result_record,
    usage_record,
)
from memory.sessions.importers.untrusted_json import (
    code,
    count,
    fields,
    first_text,
    objects,
    one_line,
    params,
    seconds,
    size,
    text,
)
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    FileAction,
    MessageRecord,
    Record,
    Role,
    SessionRecord,
    UsageRecord,
)

_ACTIONS: Mapping[str, FileAction] = {
    "create": "created",
    "edit": "modified",
    "delete": "deleted",
}
_SUBAGENTS = {"task": ("agent_type",)}
_SKILLS = {"skill": ("skill", "name")}
_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_DENIED_CODES = ("denied", "rejected")
_HOOK_DENIED = "Denied by "


def state_folder(ground: Ground) -> str:
    """Return the folder that holds a folder for each session."""
    base = find_place("~/.copilot", ground.home, ground.environ)
    return ground.root or os.path.join(base, "session-state")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield every session: its path does not name a project."""
    for path, names in list_files(state_folder(ground), "*/events.jsonl"):
        yield Transcript(path, names[0])


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one event."""
    kind, data = text(value.get("type")), fields(value.get("data"))
    at = seconds(value.get("timestamp"))
    if kind in ("session.start", "session.resume", "session.context_changed"):
        yield from _begin(kind, data, at, state)
    if not state.get("id"):
        return
    if agent := text(value.get("agentId")):
        yield from _turn_to(f"{state['id']}/{agent}", state, at)
    else:
        yield from _turn_to(state["id"], state, at)
    if kind in _READERS:
        yield from _READERS[kind](text(value.get("id")), data, at, state)


def _begin(kind: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    own = first_text(data, "sessionId") or text(state.get("id"))
    if not own:
        return
    context = data if kind == "session.context_changed" else fields(data.get("context"))
    parent = text(data.get("detachedFromSpawningParentSessionId"))
    state["id"] = state["now"] = own
    state["model"] = first_text(data, "selectedModel") or text(state.get("model"))
    yield SessionRecord(
        own,
        parent,
        "continued" if parent else "",
        agent_version=text(data.get("copilotVersion")),
        working_directory=text(context.get("cwd")),
        git_branch=text(context.get("branch")),
        started_at=seconds(data.get("startTime")) or (at if kind == "session.start" else None),
    )


def _turn_to(session: str, state: State, at: float | None) -> Iterator[Record]:
    """Yield the session of the next records, if it differs from the last."""
    if session == state.get("now"):
        return
    state["now"] = session
    is_own = session == state["id"]
    yield SessionRecord(
        session,
        "" if is_own else state["id"],
        "" if is_own else "subagent",
        started_at=None if is_own else at,
    )


def _user(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    said = text(data.get("content"))
    images = sum("image" in text(one.get("mimeType")) for one in objects(data.get("attachments")))
    # `source` names the origin of a message that the user did not type.
    source = text(data.get("source"))
    is_own = source in ("", "user") and data.get("isAutopilotContinuation") is not True
    is_prompt = is_own and state["now"] == state["id"]
    if said or images:
        role: Role = "user" if is_own else "system"
        yield MessageRecord(key, key, role, said, at, is_prompt, images=images)


def _system(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    if said := first_text(data, "content", "message"):
        yield MessageRecord(key, key, "system", said, at)


def _assistant(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    model = first_text(data, "model") or text(state.get("model"))
    thinking = size(first_text(data, "reasoningText", "reasoningOpaque", "encryptedContent"))
    if (said := text(data.get("content"))) or thinking:
        yield MessageRecord(key, key, "assistant", said, at, model=model, thinking_bytes=thinking)
    for number, call in enumerate(objects(data.get("toolRequests"))):
        call_id, tool = text(call.get("toolCallId")), text(call.get("name"))
        open_call(state, call_id, [tool, False])
        called = tool, params(call.get("arguments")), call_id, at, model
        own = f"{key}:{number}"
        yield call_record(own, key, *called, subagents=_SUBAGENTS, skills=_SKILLS)
    output = count(data.get("outputTokens"))
    if output is not None and not state.get("counted"):
        response = first_text(data, "messageId") or key
        yield UsageRecord(f"message:{response}", model, at, output=output)


def _permission(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    """Yield a refusal, which comes before the call's end."""
    call = state.get("calls", {}).get(text(data.get("toolCallId")))
    if call and text(fields(data.get("result")).get("kind")).startswith(_DENIED_CODES):
        call[1] = True
    yield from ()


def _completed(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    call_id = text(data.get("toolCallId"))
    tool, was_denied = state.get("calls", {}).pop(call_id, ["", False])
    result, error = fields(data.get("result")), fields(data.get("error"))
    said = first_text(result, "content", "detailedContent") or text(error.get("message"))
    is_denied = was_denied or text(error.get("code")) in _DENIED_CODES
    is_denied = is_denied or text(error.get("message")).startswith(_HOOK_DENIED)
    ended = code(fields(data.get("shellExecution")).get("exitCode"))
    if ended is None:
        ended = code(fields(fields(data.get("toolTelemetry")).get("metrics")).get("exit_code"))
    yield result_record(
        key,
        said,
        call_id,
        at,
        tool,
        failed=data.get("success") is False,
        ended=ended,
        is_denied=is_denied,
        files=tuple(
            (path, _ACTIONS.get(text(edit.get("kind")), "modified"))
            for edit in objects(data.get("fileEdits"))
            if (path := text(edit.get("path")))
        ),
        images=sum(one.get("type") == "image" for one in objects(result.get("contents"))),
    )


def _usage(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    usage = fields(data.get("usage"))
    counted = fields(usage.get("accounting"))
    source, number = text(counted.get("sourceSessionId")), count(counted.get("sequence"))
    state["counted"] = True
    response = f"{source}:{number}" if source and number is not None else key
    yield usage_record(response, text(usage.get("model")), at, usage, _TOKENS)


def _compacted(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    if data.get("success") is False:
        return
    trigger = text(data.get("trigger"))
    yield CompactionRecord(
        first_text(data, "compactionAttemptId") or key,
        at,
        trigger if trigger in ("", "manual") else "auto",
        text(data.get("summaryContent")),
        count(data.get("preCompactionTokens")),
        count(data.get("postCompactionTokens")),
    )


def _rewound(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    if group := text(data.get("upToEventId")):
        yield CutRecord(group)


def _titled(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    if title := one_line(text(data.get("title"))):
        yield SessionRecord(state["now"], title=title)


def _agent_named(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    title = first_text(data, "agentDisplayName", "agentName")
    if title and state["now"] != state["id"]:
        yield SessionRecord(state["now"], title=one_line(title))


def _model_changed(
    key: str, data: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    state["model"] = text(data.get("newModel"))
    yield from ()


def _ended(key: str, data: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    yield SessionRecord(state["id"], ended_at=at, end_reason=text(data.get("shutdownType")))
    state["now"] = state["id"]
    metrics = {} if state.get("counted") else fields(data.get("modelMetrics"))
    for model, of_model in list(metrics.items())[:100]:
        usage = dict(fields(fields(of_model).get("usage")))
        usage.pop("outputTokens", None)  # they are in the messages
        yield usage_record(f"shutdown:{model}", str(model), at, usage, _TOKENS)


_READERS = {
    "user.message": _user,
    "system.message": _system,
    "system.notification": _system,
    "assistant.message": _assistant,
    "permission.completed": _permission,
    "tool.execution_complete": _completed,
    "session.usage_record": _usage,
    "session.compaction_complete": _compacted,
    "session.snapshot_rewind": _rewound,
    "session.title_changed": _titled,
    "subagent.started": _agent_named,
    "session.model_change": _model_changed,
    "session.shutdown": _ended,
}

IMPORTER = Importer(
    "copilot_cli",
    "Copilot CLI",
    lambda ground: iter([state_folder(ground)]),
    find_transcripts,
    parse_line,
)
