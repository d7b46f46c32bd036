"""Codex: one file of lines per thread, `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.

Seen with 0.169.0, driven: a prompt, resuming, forking, a subagent, a compaction. Records of older
releases, such as `exec_command_end`, are read by the names that the program still has.

`response_item` lines are the model's input and output; `event_msg` lines repeat them, and add exit
codes and changed files, which are kept until the call's output comes. In a message from the user,
`content_item_kinds` marks the parts that are theirs; older lines are recognised by their
beginnings.

Tokens: `last_token_usage` is one response's; a repeated event has the same `total_token_usage`, so
the turn and that total identify the response. Cached tokens are within the input, reasoning is
within the output.

The copied lines of a subagent, or of an older fork, come first, with the parent's turn ids. These
are UUIDs of version 7: one made before the thread's own id is the parent's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.digests import sha256
from base.host_homes import find_place
from ctxmode.hosts.codex import outcome
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import (
    call_record,
    list_files,
    open_call,
    usage_record,
)
from memory.sessions.importers.untrusted_json import (
    count,
    fields,
    first_text,
    listed,
    params,
    seconds,
    size,
    text,
)
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    Record,
    SessionRecord,
)

_NAME = re.compile(r"rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z")
# The beginnings of texts that the host inserts, in lines that do not mark them.
_NO_PROMPT = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|subagent_notification|skill|"
    r"turn_aborted|user_shell_command|user_action|command_sessions|hook_prompt|permissions|"
    r"collaboration_mode|personality_spec|rollout_budget|token_budget)\b|# AGENTS\.md instructions)"
)
_PROMPTS_KEPT = 500
_SUBAGENTS = {"spawn_agent": ("agent_type",)}
_TOKENS = (
    *("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    "reasoning_output_tokens",
)
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_COPIED_S = 2.0  # all copied lines of a fork have the time of its creation


def sessions_folder(ground: Ground) -> str:
    """Return the folder of all threads."""
    base = find_place("~/.codex", ground.home, ground.environ)
    return ground.root or os.path.join(base, "sessions")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield every thread: its path has its day, not its project."""
    for path, names in list_files(sessions_folder(ground), "*/*/*/rollout-*.jsonl"):
        if named := _NAME.match(names[-1]):
            yield Transcript(path, named[1])


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one line of a thread."""
    kind, payload = value.get("type"), fields(value.get("payload"))
    at = seconds(value.get("timestamp"))
    if kind == "session_meta":
        yield from _begin(payload, at, state)
        return
    if _is_copied(value, payload, at, state):
        return
    if kind in ("turn_context", "event_msg"):
        yield from _note(payload, at, state)
    elif kind == "response_item":
        yield from _item(payload, at, state)
    elif kind == "token_usage_record":
        totals = fields(payload.get("thread_token_usage"))
        yield from _usage(fields(payload.get("usage")), totals, at, state)
    elif kind == "compacted":
        yield from _compaction(payload, at, state)


def _begin(meta: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    """Begin the thread. A second line with another id is the parent's: copied lines follow it."""
    own = text(meta.get("id"))
    if not own or state.get("id"):
        if own and own != state.get("id"):
            state["copied"] = True
            if not state.get("parent"):
                state["parent"] = own
                yield SessionRecord(state["id"], own, "fork")
        return
    spawn = fields(fields(fields(meta.get("source")).get("subagent")).get("thread_spawn"))
    parent = first_text(meta, "parent_thread_id") or first_text(spawn, "parent_thread_id")
    is_agent = bool(parent) or meta.get("thread_source") == "subagent"
    parent = parent or text(meta.get("forked_from_id"))
    state.update(id=own, at=at, parent=parent, agent=is_agent)
    state["start"] = count(meta.get("subagent_history_start_ordinal"))
    state["copied"] = state["start"] is not None
    git = fields(meta.get("git"))
    yield SessionRecord(
        own,
        parent,
        ("subagent" if is_agent else "fork") if parent else "",
        agent_version=text(meta.get("cli_version")),
        working_directory=text(meta.get("cwd")),
        git_branch=text(git.get("branch")),
        started_at=seconds(meta.get("timestamp")) or at,
    )


def _is_copied(
    value: Mapping[str, Any], payload: Mapping[str, Any], at: float | None, state: State
) -> bool:
    """Return whether a line is the parent's. The first line of this thread ends the copied part."""
    if not state.get("copied"):
        return False
    start, ordinal = state.get("start"), count(value.get("ordinal"))
    if start is not None and ordinal is not None:
        state["copied"] = ordinal < start
    elif turn := text(payload.get("turn_id")):
        made, own = _made_at(turn), _made_at(state["id"])
        if made is not None and own is not None:
            state["copied"] = made < own
        else:
            state["copied"] = _is_stamped_at_start(at, state)
    elif payload.get("role") == "user" and not _is_stamped_at_start(at, state):
        state["copied"] = False
    if state["copied"]:  # its sums continue in some releases
        _note_total(fields(fields(payload.get("info")).get("total_token_usage")), state)
    return bool(state["copied"])


def _is_stamped_at_start(at: float | None, state: State) -> bool:
    began = state.get("at")
    return at is None or began is None or at - began < _COPIED_S


def _made_at(uuid: str) -> int | None:
    """Return the time of a UUID of version 7, in milliseconds."""
    match = _UUID7.match(uuid)
    return int(match[1] + match[2], 16) if match else None


def _note(payload: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    kind = payload.get("type")
    turn = text(payload.get("turn_id"))
    if kind in (None, "task_started", "turn_started") and turn and turn != state.get("turn"):
        state.update(turn=turn, n=0, prompted=False, group="")
    if model := text(payload.get("model")):
        state["model"] = model
    if kind == "token_count":
        info = fields(payload.get("info"))
        totals = fields(info.get("total_token_usage"))
        yield from _usage(fields(info.get("last_token_usage")), totals, at, state)
    elif kind in ("task_complete", "turn_complete", "turn_aborted"):
        key = state.pop("untold", "")
        if key and state.get("id"):
            yield CompactionRecord(key, trigger="auto" if state.get("prompted") else "manual")
    elif kind == "thread_rolled_back":
        yield from _rolled_back(count(payload.get("num_turns")), state)
    elif kind == "thread_name_updated" and (title := first_text(payload, "thread_name", "name")):
        if state.get("id"):
            yield SessionRecord(state["id"], title=title)
    else:
        outcome.note(kind, payload, state)


def _rolled_back(turns: int | None, state: State) -> Iterator[Record]:
    prompts: list[str] = state.get("prompts", [])
    if turns and prompts:
        at = max(len(prompts) - turns, 0)
        yield CutRecord(prompts[at])
        state["prompts"] = prompts[:at]


def _item(item: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    kind = text(item.get("type"))
    if kind == "message":
        yield from _message(item, at, state)
    elif kind == "reasoning":
        kept = text(item.get("encrypted_content"))
        told = [text(fields(one).get("text")) for one in listed(item.get("content"))]
        thinking = size(kept) or size("".join(told))
        key, group = _next(state, is_answer=True)
        yield MessageRecord(
            key, group, "assistant", at=at, model=_model(state), thinking_bytes=thinking
        )
    elif kind.endswith("_call_output"):
        yield outcome.result(item, _next(state)[0], at, state)
    elif kind.endswith("_call"):
        yield _call(item, at, state)


def _call(item: Mapping[str, Any], at: float | None, state: State) -> Record:
    kind, name = text(item.get("type")), text(item.get("name"))
    space = text(item.get("namespace"))
    tool = f"{space}__{name}" if space.startswith("mcp__") and name else name
    tool = tool or kind.removesuffix("_call")
    call_id = first_text(item, "call_id", "id")
    given = params(next((item[n] for n in ("arguments", "input", "action") if n in item), None))
    if isinstance(given, str):
        given = {"input": given}
    open_call(state, call_id, {"tool": tool})
    key, group = _next(state, is_answer=True)
    called = tool, given, call_id, at, _model(state)
    return call_record(key, group, *called, subagents=_SUBAGENTS)


def _message(item: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    role = item.get("role")
    content = item.get("content")
    parts = [{"text": content}] if isinstance(content, str) else listed(content)
    if role == "assistant":
        said = _joined(parts)
        if said:
            key, group = _next(state, is_answer=True)
            state["said"] = [key, group, len(said), _digest(said)]
            yield MessageRecord(key, group, "assistant", said, at, model=_model(state))
        return
    told = fields(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    kinds = told if isinstance(told, list) and len(told) == len(parts) else None
    own: list[Any] = []
    hosts: list[Any] = []
    for number, part in enumerate(parts):
        is_own = role == "user" and (
            text(kinds[number]).startswith("user.")
            if kinds
            else not _NO_PROMPT.match(text(fields(part).get("text")))
        )
        (own if is_own else hosts).append(part)
    if said := _joined(hosts):
        yield MessageRecord(*_next(state), "system", said, at)
    images = sum(fields(part).get("type") == "input_image" for part in own)
    if (said := _joined(own)) or images:
        key, group = _next(state)
        is_prompt = not state.get("agent")  # a subagent is prompted by its parent
        state["prompted"] = True
        state["prompts"] = [*state.get("prompts", []), group][-_PROMPTS_KEPT:]
        yield MessageRecord(key, group, "user", said, at, is_prompt, images=images)


def _compaction(payload: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    """Yield a compaction. Its summary is the model's last answer, which was for the host, after a
    preface."""
    summary = text(payload.get("message"))
    key = f"compaction:{_next(state)[0]}"
    before = state.get("size")
    said = state.pop("said", None)
    if said and _digest(summary[len(summary) - said[2] :]) == said[3] and said[2] <= len(summary):
        summary = summary[len(summary) - said[2] :]
        before = state.get("size_before")
        yield MessageRecord(said[0], said[1], "system", summary, at, replaces=True)
    trigger = "auto" if state.get("prompted") else ""
    state["untold"] = "" if trigger else key
    state["compacted"] = key
    yield CompactionRecord(key, at, trigger, summary, before)


def _usage(
    last: Mapping[str, Any], totals: Mapping[str, Any], at: float | None, state: State
) -> Iterator[Record]:
    now = count(last.get("total_tokens"))
    if not _note_total(totals, state):
        key = state.pop("compacted", "") if not last.get("output_tokens") else ""
        if key and now:  # the host's estimate of the remainder
            state["size"] = now
            yield CompactionRecord(key, tokens_after=now)
        return
    state["size_before"], state["size"] = state.get("size"), now
    state["group"] = ""  # the response is complete
    response = f"{state.get('turn', '')}:{state['total']}"
    yield usage_record(response, _model(state), at, last, _TOKENS)


def _note_total(totals: Mapping[str, Any], state: State) -> bool:
    """Store the sum of all responses; return whether it changed."""
    total = count(totals.get("total_tokens"))
    if total is None or total == state.get("total"):
        return False
    state["total"] = total
    return True


def _next(state: State, *, is_answer: bool = False) -> tuple[str, str]:
    """Return a key for the next message, and its group: parts of one response share it."""
    state["n"] = state.get("n", 0) + 1
    key = f"{state.get('turn', '')}:{state['n']}"
    if not is_answer:
        state["group"] = ""
        return key, key
    state["group"] = state.get("group") or key
    return key, state["group"]


def _joined(parts: list[Any]) -> str:
    return "\n".join(said for part in parts if (said := text(fields(part).get("text"))))


def _digest(said: str) -> str:
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _model(state: State) -> str:
    return text(state.get("model"))


IMPORTER = Importer(
    "codex",
    "Codex",
    lambda ground: iter([sessions_folder(ground)]),
    find_transcripts,
    parse_line,
)
