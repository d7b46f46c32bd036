"""Qwen Code: one file of lines per session, `~/.qwen/projects/PROJECT/chats/ID.jsonl`.

Seen with 0.24.4; compressing, rewinding and forking follow its program. PROJECT is the working
directory with `-` for every character other than letters and digits. `provenance` names the author
of a message; older records are recognised by their type. A record copied by a fork has
`forkedFrom`.

Tokens: with an OpenAI endpoint, thoughts are within the candidates, with Google's separate; the
record's own total shows which. The prompt includes the cached tokens.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.host_homes import find_place
from ctxmode.hosts.gemini_cli.transcript import changed_files
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import (
    call_record,
    list_project_files,
    read_trailer,
    result_record,
    usage_record,
)
from memory.sessions.importers.untrusted_json import (
    count,
    fields,
    first_text,
    listed,
    objects,
    one_line,
    parts_text,
    seconds,
    size,
    text,
)
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    MessageRecord,
    Record,
    Role,
    SessionRecord,
    UsageRecord,
)

_NO_PROMPT = re.compile(r"\s*<(?:session_context|hook_context|state_snapshot|system-reminder)>")
_PROMPTS_KEPT = 500
# The host's ending of every command's output.
_TRAILER = re.compile(
    r"\nExit Code: (-?\d{1,9})\nSignal: [^\n]{1,40}(?:\nBackground PIDs: [^\n]{1,400})?"
    r"\nProcess Group PGID: [^\n]{1,40}\s*\Z"
)
_SUBAGENTS = {"agent": ("subagent_type",)}
_SKILLS = {"skill": ("skill", "name")}
_TOKENS = (
    *("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount"),
    *("", "thoughtsTokenCount"),
)


def projects_folder(ground: Ground) -> str:
    """Return the folder that holds a folder for each project."""
    base = find_place("~/.qwen", ground.home, ground.environ)
    return ground.root or os.path.join(base, "projects")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield the sessions of folders that may be the project's, or one of its subfolders'."""
    for path, names in list_project_files(ground, projects_folder(ground), "chats/*.jsonl"):
        yield Transcript(path, names[-1].removesuffix(".jsonl"))


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one record of a session."""
    own, kind = text(value.get("sessionId")), value.get("type")
    if not own:
        return
    at = seconds(value.get("timestamp"))
    copied = value.get("forkedFrom")
    parent = text(copied) or first_text(fields(copied), "sessionId")
    known = [own, text(value.get("cwd")), text(value.get("gitBranch")), text(value.get("version"))]
    if known != state.get("known"):
        state["known"] = known
        yield SessionRecord(
            own,
            parent,
            "fork" if parent else "",
            agent_version=known[3],
            working_directory=known[1],
            git_branch=known[2],
            started_at=at,
        )
    if copied is not None:
        return
    if kind == "user":
        yield from _user(value, at, state)
    elif kind == "assistant":
        yield from _assistant(value, at)
    elif kind == "tool_result":
        yield from _result(value, at)
    elif kind == "system":
        yield from _system(value, own, at, state)


def _user(value: Mapping[str, Any], at: float | None, state: State) -> Iterator[Record]:
    key = text(value.get("uuid"))
    parts = listed(fields(value.get("message")).get("parts"))
    said = first_text(fields(value.get("systemPayload")), "displayText") or parts_text(parts)
    who = value.get("provenance", "real_user")
    is_usual = value.get("subtype") in (None, "mid_turn_user_message")
    is_prompt = who == "real_user" and is_usual and not _NO_PROMPT.match(said)
    kinds = (text(fields(fields(part).get("inlineData")).get("mimeType")) for part in parts)
    images = sum(one.startswith("image/") for one in kinds)
    if key and (said or images):
        if is_prompt:
            pair = [key, value.get("parentUuid")]
            state["prompts"] = [*state.get("prompts", []), pair][-_PROMPTS_KEPT:]
        role: Role = "user" if is_prompt else "system"
        yield MessageRecord(key, key, role, said, at, is_prompt, images=images)


def _assistant(value: Mapping[str, Any], at: float | None) -> Iterator[Record]:
    group, model = text(value.get("uuid")), text(value.get("model"))
    for number, part in enumerate(objects(fields(value.get("message")).get("parts"))):
        key = f"{group}:{number}"
        call = fields(part.get("functionCall"))
        said = text(part.get("text"))
        if call:
            called = text(call.get("name")), call.get("args"), text(call.get("id")), at, model
            yield call_record(key, group, *called, subagents=_SUBAGENTS, skills=_SKILLS)
        elif part.get("thought") is True:
            yield MessageRecord(
                key, group, "assistant", at=at, model=model, thinking_bytes=size(said)
            )
        elif said:
            yield MessageRecord(key, group, "assistant", said, at, model=model)
    if tokens := fields(value.get("usageMetadata")):
        yield _usage(group, model, at, tokens)


def _usage(group: str, model: str, at: float | None, tokens: Mapping[str, Any]) -> UsageRecord:
    usage = usage_record(group, model, at, tokens, _TOKENS)
    given, total = count(tokens.get("promptTokenCount")), count(tokens.get("totalTokenCount"))
    said, thoughts = usage.output, usage.reasoning
    are_beside = total is not None and total >= (given or 0) + (said or 0) + (thoughts or 0)
    if said is not None and thoughts and are_beside:
        said += thoughts
    return usage._replace(output=said)


def _result(value: Mapping[str, Any], at: float | None) -> Iterator[Record]:
    key, told = text(value.get("uuid")), fields(value.get("toolCallResult"))
    for number, part in enumerate(objects(fields(value.get("message")).get("parts"))):
        answer = fields(part.get("functionResponse"))
        if not answer:
            continue
        response = fields(answer.get("response"))
        tool, said = text(answer.get("name")), first_text(response, "output", "error")
        status = text(told.get("status"))
        is_denied = status == "cancelled" or "denied" in text(told.get("errorType"))
        failed = status == "error" or "error" in response
        yield result_record(
            f"{key}:{number}",
            said,
            first_text(answer, "id") or text(told.get("callId")),
            at,
            tool,
            failed=failed,
            ended=read_trailer(said, _TRAILER) if tool == "run_shell_command" else None,
            is_denied=is_denied,
            files=() if failed or is_denied else changed_files(told.get("resultDisplay")),
        )


def _system(value: Mapping[str, Any], own: str, at: float | None, state: State) -> Iterator[Record]:
    kind, payload = value.get("subtype"), fields(value.get("systemPayload"))
    if kind == "chat_compression":
        info = fields(payload.get("info"))
        history = list(objects(payload.get("compressedHistory")))
        said = (parts_text(one.get("parts")) for one in history)
        summary = next((one for one in said if "<state_snapshot>" in one), "")
        yield CompactionRecord(
            text(value.get("uuid")),
            at,
            first_text(payload, "trigger"),
            summary,
            count(info.get("originalTokenCount")),
            count(info.get("newTokenCount")),
        )
    elif kind == "rewind":
        prompts: list[list[Any]] = state.get("prompts", [])
        parent = value.get("parentUuid")
        at_prompt = next((n for n, one in enumerate(prompts) if one[1] == parent), None)
        if at_prompt is not None:
            yield CutRecord(prompts[at_prompt][0])
            state["prompts"] = prompts[:at_prompt]
    elif kind == "custom_title":
        if title := one_line(first_text(payload, "customTitle", "title")):
            yield SessionRecord(own, title=title)
    elif kind == "parent_session" and (parent := text(payload.get("parentSessionId"))):
        yield SessionRecord(own, parent, "subagent")


IMPORTER = Importer(
    "qwen_code",
    "Qwen Code",
    lambda ground: iter([projects_folder(ground)]),
    find_transcripts,
    parse_line,
)
