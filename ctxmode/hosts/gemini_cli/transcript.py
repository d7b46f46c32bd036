"""Gemini CLI: one file per session, `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`.

Seen with 0.61.0; the parts that were not driven (rewinding, compression, subagents) follow its
program. PROJECT is a short name that `.project_root` next to `chats` explains, or, in older
releases, the sha256 of the path. A subagent's file is `chats/PARENT/ID.jsonl`. Files of older
releases, one object in a `.json`, are not read; the program itself converts such a file to lines
when it resumes.

A record with a known id replaces the earlier one: this is how tools' results come. `$rewindTo`
rewinds the session to before a message. `$set` patches the head; if that has `messages`, the host
has rewritten its history: new messages there are its own, and a `<state_snapshot>` is a
compression.

Tokens are the API's `usageMetadata` (ai.google.dev/api/generate-content): the prompt includes the
cached ones; tools' prompts and thoughts are counted separately from prompt and candidates. So input
is prompt without cached, plus tools' prompts; output is candidates plus thoughts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.digests import sha256
from base.host_homes import find_place
from base.plain_files import open_plain
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import (
    call_record,
    list_files,
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
    subfolders,
    text,
)
from memory.sessions.records import (
    CompactionRecord,
    CutRecord,
    FileAction,
    MessageRecord,
    Record,
    SessionRecord,
    UsageRecord,
)

_ROOT_BYTES_MAX = 8192
# Texts that the host itself does not count as the user's, and its summary.
_NO_PROMPT = re.compile(r"\s*(?:[/?]|<(?:session_context|hook_context|state_snapshot)>)")
_HOOKS_BEGIN, _HOOKS_END = "<hook_context>", "</hook_context>"
_SNAPSHOT = "<state_snapshot>"
_DENIED = re.compile(
    r"(?:Tool execution (?:for \"[^\"\n]{1,100}\" )?denied by policy|User denied execution|"
    r"\[Operation Cancelled\])"
)
# The host's last lines of a command's output. A program whose last line looks the same can only
# pretend to have failed.
_TRAILER = re.compile(
    r"\nExit Code: (-?\d{1,9})(?:\nSignal: [^\n]{1,40})?(?:\nBackground PIDs: [\d, ]{1,400})?"
    r"(?:\nProcess Group PGID: \d{1,20})?(?:\n</untrusted_context>)?\s*\Z"
)
_SUBAGENTS = {"invoke_agent": ("agent_name",)}
_SKILLS = {"activate_skill": ("name",)}


_Head = tuple[str, str, float | None, str]
"""Data of a call's response: its group, the call's id, a time, a model."""


def tmp_folder(ground: Ground) -> str:
    """Return the folder that holds a folder for each project."""
    return ground.root or find_place("~/.gemini/tmp", ground.home, ground.environ)


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield the sessions of the project and of its subfolders."""
    for project in subfolders(tmp_folder(ground)):
        root = _root_of(project, ground)
        is_below = root == ground.project or root.startswith(ground.project.rstrip("/") + "/")
        if ground.project and not (root and is_below):
            continue
        for path, _ in list_files(project.path, "chats/*.jsonl"):
            yield Transcript(path, "", root)
        for path, names in list_files(project.path, "chats/*/*.jsonl"):
            yield Transcript(path, names[-1].removesuffix(".jsonl"), root)


def _root_of(project: os.DirEntry[str], ground: Ground) -> str:
    """Return the path of a project, from its folder; empty if it cannot be known."""
    try:
        with open_plain(os.path.join(project.path, ".project_root"), follow=False) as file:
            return file.read(_ROOT_BYTES_MAX).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        hashed = sha256(os.fsencode(ground.project)).hexdigest()
        return ground.project if ground.project and project.name == hashed else ""


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one record of a session."""
    if "$rewindTo" in value:
        yield from _rewound(text(value["$rewindTo"]), state)
    elif "$set" in value:
        yield from _patched(fields(value["$set"]), state)
    elif "projectHash" in value or ("sessionId" in value and "id" not in value):
        yield from _begin(value, state)
    elif text(value.get("id")):
        yield from _message(value, state)


def _begin(head: Mapping[str, Any], state: State) -> Iterator[Record]:
    own = text(head.get("sessionId"))
    if own:
        state["id"] = own
        state["agent"] = head.get("kind") == "subagent"
        yield SessionRecord(
            own,
            title=one_line(text(head.get("summary"))),
            started_at=seconds(head.get("startTime")),
        )


def _patched(patch: Mapping[str, Any], state: State) -> Iterator[Record]:
    own = first_text(patch, "sessionId") or text(state.get("id"))
    title = one_line(text(patch.get("summary")))
    if own and (title or own != state.get("id")):
        state["id"] = own
        yield SessionRecord(own, title=title)
    for message in objects(patch.get("messages")):
        key = text(message.get("id"))
        said = parts_text(message.get("content"))
        if not key or not _is_new(key, state) or message.get("type") != "user" or not said:
            continue
        at = seconds(message.get("timestamp"))
        if _SNAPSHOT in said:
            yield CompactionRecord(f"compaction:{key}", at, summary=said)
        else:
            yield MessageRecord(key, key, "system", said, at)


def _rewound(group: str, state: State) -> Iterator[Record]:
    """Rewind the session; an id that the host does not find removes all of its history."""
    known = state.get("seen", {})
    first = text(state.get("first"))
    if group and (target := group if _digest(group) in known else first):
        yield CutRecord(target)


def _message(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    kind, key = value.get("type"), text(value["id"])
    at = seconds(value.get("timestamp"))
    if kind == "user":
        yield from _prompt(value, key, at, state)
    elif kind == "gemini":
        yield from _answer(value, key, at, state)
    elif kind in ("error", "warning", "info") and (said := parts_text(value.get("content"))):
        replaces = not _is_new(key, state)
        yield MessageRecord(key, key, "system", said, at, replaces=replaces)


def _prompt(value: Mapping[str, Any], key: str, at: float | None, state: State) -> Iterator[Record]:
    content = value.get("displayContent") or value.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [one for part in parts for one in _part_context(parts_text(part)) if one]
    own = "\n".join(one for one in said if not _NO_PROMPT.match(one))
    hosts = "\n".join(one for one in said if _NO_PROMPT.match(one))
    images = sum(_is_image(part) for part in parts)
    if own or images:
        replaces = not _is_new(key, state)
        is_prompt = not state.get("agent")  # a subagent is prompted by its parent
        yield MessageRecord(key, key, "user", own, at, is_prompt, images=images, replaces=replaces)
    if hosts:
        other = f"{key}:host" if own or images else key
        replaces = not _is_new(other, state)
        yield MessageRecord(other, key, "system", hosts, at, replaces=replaces)


def _part_context(said: str) -> tuple[str, str]:
    """Separate the texts of hooks from the prompt after them. The last closing mark counts, so that
    a hook's text with such a mark is not taken for the user's words."""
    if not said.lstrip().startswith(_HOOKS_BEGIN):
        return "", said
    hooks, mark, own = said.rpartition(_HOOKS_END)
    return (hooks + mark, own) if mark else (said, "")


def _is_image(part: object) -> bool:
    data = fields(fields(part).get("inlineData")) or fields(fields(part).get("fileData"))
    return text(data.get("mimeType")).startswith("image/")


def _answer(value: Mapping[str, Any], key: str, at: float | None, state: State) -> Iterator[Record]:
    model = text(value.get("model"))
    said = parts_text(value.get("content"))
    thoughts = list(objects(value.get("thoughts")))
    thinking = sum(size(first_text(one, "description")) for one in thoughts)
    replaces = not _is_new(key, state)
    if said or thinking:
        yield MessageRecord(
            key,
            key,
            "assistant",
            said,
            at,
            model=model,
            thinking_bytes=thinking,
            replaces=replaces,
        )
    for number, call in enumerate(objects(value.get("toolCalls"))):
        head = key, text(call.get("id")) or f"{key}:{number}", at, model
        yield from _call(call, head, state)
    tokens = fields(value.get("tokens"))
    if tokens:
        yield usage(key, model, at, tokens)


def usage(key: str, model: str, at: float | None, tokens: Mapping[str, Any]) -> UsageRecord:
    """Return the tokens of a response, by the host's names."""
    found = usage_record(key, model, at, tokens, ("input", "output", "cached", "", "thoughts"))
    given, said = found.input, found.output
    return found._replace(
        input=None if given is None else given + (count(tokens.get("tool")) or 0),
        output=None if said is None else said + (found.reasoning or 0),
    )


def _call(call: Mapping[str, Any], head: _Head, state: State) -> Iterator[Record]:
    tool = text(call.get("name"))
    group, call_id, at, model = head
    key = f"{group}:{call_id}"
    agent = text(call.get("agentId"))
    own = text(state.get("id"))
    if agent and own and _is_new(f"agent:{agent}", state):
        yield SessionRecord(agent, own, "subagent")
        yield SessionRecord(own)
    called = tool, call.get("args"), call_id, at, model
    record = call_record(key, group, *called, subagents=_SUBAGENTS, skills=_SKILLS)
    yield record._replace(replaces=not _is_new(key, state))
    status = call.get("status")
    if status in ("success", "error", "cancelled"):
        said, failed = _result(call.get("result"))
        failed = failed or status == "error"
        is_denied = status == "cancelled" or (failed and bool(_DENIED.match(said)))
        result = result_record(
            f"{key}:result",
            said,
            call_id,
            seconds(call.get("timestamp")) or at,
            tool,
            failed=failed,
            ended=read_trailer(said, _TRAILER) if tool == "run_shell_command" else None,
            is_denied=is_denied,
            files=() if failed or is_denied else changed_files(call.get("resultDisplay")),
        )
        yield result._replace(replaces=not _is_new(result.key, state))


def _result(result: object) -> tuple[str, bool]:
    """Return the text that the model received, and whether the host calls it an error."""
    said, failed = [], False
    for part in [result] if isinstance(result, str) else listed(result):
        response = fields(fields(fields(part).get("functionResponse")).get("response"))
        failed = failed or "error" in response
        said.append(first_text(response, "output", "error") or parts_text(part))
    return "\n".join(one for one in said if one), failed


def changed_files(display: object) -> tuple[tuple[str, FileAction], ...]:
    """Return the file that an edit changed, as the host shows it."""
    shown = fields(display)
    path = text(shown.get("filePath"))
    if not path or "fileDiff" not in shown:
        return ()
    return ((path, "created" if shown.get("isNewFile") is True else "modified"),)


def _is_new(key: str, state: State) -> bool:
    """Return whether a key is new, and store it."""
    seen = state.setdefault("seen", {})
    state.setdefault("first", key)
    digest = _digest(key)
    if digest in seen:
        return False
    seen[digest] = 1
    return True


def _digest(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


IMPORTER = Importer(
    "gemini",
    "Gemini CLI",
    lambda ground: iter([tmp_folder(ground)]),
    find_transcripts,
    parse_line,
)
