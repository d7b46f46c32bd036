"""Cursor, command line and editor: `~/.cursor/projects/FOLDER/agent-transcripts/ID/ID.jsonl`.

Based on public descriptions of releases of 2026; none was driven here. A line is `{role, message:
{content}}`, without id, time, tokens and working directory; a call has no result. So token counts
are not recorded. Times, results and failures come from Cursor's hooks if they are registered:
`memory.sessions.session_rows` describes how both are combined. A subagent's file is
`ID/subagents/ID.jsonl`. The editor's `state.vscdb` is not read: it is tens of gigabytes, its form
changes, and its data on an agent's work are in these files.

FOLDER is the working directory with `-` for each run of characters other than letters and digits,
so several folders may have one name. `chats/*/ID/meta.json` names the folder of a session. If it is
missing, all candidates for the name are collected: existing folders, the one that
`.workspace-trusted` names, and those of paths in the session's calls. The session is only read if
these are a single folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from base.digests import sha256
from base.plain_files import open_plain
from memory.sessions.importers.importer import Ground, Importer, State, Transcript
from memory.sessions.importers.record_fields import call_record, list_files, result_record
from memory.sessions.importers.untrusted_json import (
    code,
    fields,
    first_text,
    listed,
    objects,
    params,
    parts_text,
    size,
    subfolders,
    text,
)
from memory.sessions.line_reader import read_lines
from memory.sessions.records import CompactionRecord, MessageRecord, Record, SessionRecord

NAME_CHARS_MAX = 84
"""Length from which a folder's name is cut, and followed by a digest."""

SUBAGENTS = {"Task": ("subagent_type",)}
_NO_NAME = re.compile(r"[^A-Za-z0-9]+")
_FOLDERS_MAX = 2000
_FILE_BYTES_MAX = 65_536
_EVIDENCE_BYTES_MAX = 64 << 20
_PATH_KEYS = (
    *("path", "file_path", "target_file", "target_directory", "target_notebook"),
    *("working_directory", "cwd", "paths", "target_directories", "command", "glob_pattern"),
)
_PATHS = re.compile(r"""(?<![\w.~/])/[^\s"'`;:,|&<>()$*?\[\]{}\\]+""")
_QUERY_BEGINS, _QUERY_ENDS = "<user_query>", "</user_query>"
_TIMESTAMP = re.compile(r"\s*<timestamp>[^<]{0,100}</timestamp>\s*")
_ENVELOPE = re.compile(r"\s*<[a-z_]{2,40}[ >]")


def projects_folder(ground: Ground) -> str:
    """Return the folder that holds a folder for each project."""
    base = ground.environ.get("CURSOR_DATA_DIR") or os.path.join(ground.home, ".cursor")
    return ground.root or os.path.join(base, "projects")


def encode_path(path: str) -> str:
    """Return the name of a working directory's folder, before it is cut."""
    return _NO_NAME.sub("-", path).strip("-")


def find_transcripts(ground: Ground) -> Iterator[Transcript]:
    """Yield the sessions of folders that may be the project's, or one of its subfolders'."""
    wanted = encode_path(ground.project)
    for project in subfolders(projects_folder(ground)):
        if ground.project and not _may_be(project.name, wanted):
            continue
        folder = os.path.join(project.path, "agent-transcripts")
        for path, (name,) in list_files(folder, "*.jsonl"):
            yield Transcript(path, name.removesuffix(".jsonl"))
        for path, (session, name) in list_files(folder, "*/*.jsonl"):
            if name == f"{session}.jsonl":
                yield Transcript(path, session)
        for path, (session, name) in list_files(folder, "*/subagents/*.jsonl"):
            yield Transcript(path, name.removesuffix(".jsonl"), parent_id=session)


def _may_be(name: str, wanted: str) -> bool:
    if not wanted:
        return False
    if len(name) > NAME_CHARS_MAX and name[:NAME_CHARS_MAX] == wanted[:NAME_CHARS_MAX]:
        return True
    return name == wanted or name.startswith(f"{wanted}-")


# The folder of a session


def find_folder(found: Transcript, file: BinaryIO) -> str:
    """Find the working directory of a session; empty if it cannot be known."""
    before, mark, _ = found.path.rpartition("/agent-transcripts/")
    if not mark:
        return ""
    projects, name = os.path.split(before)
    chats = os.path.join(os.path.dirname(projects), "chats")
    session = found.parent_id or found.session_id
    for chat in subfolders(chats):
        if cwd := _read_path(os.path.join(chat.path, session, "meta.json"), "cwd"):
            return cwd
    trusted = _read_path(os.path.join(before, ".workspace-trusted"), "workspacePath")
    if len(name) > NAME_CHARS_MAX:  # the digest after it makes the name unique
        return trusted if _may_be(name, encode_path(trusted)) else ""
    candidates = {*_list_folders(name), *_list_spoken(file, name)}
    if trusted:
        candidates.add(trusted)
    return candidates.pop() if len(candidates) == 1 else ""


def _read_path(path: str, key: str) -> str:
    """Read a path in a small file of JSON."""
    try:
        with open_plain(path, follow=False) as file:
            value = text(fields(json.loads(file.read(_FILE_BYTES_MAX))).get(key))
    except (OSError, ValueError, RecursionError):
        return ""
    return value.rstrip("/") if os.path.isabs(value) and "\0" not in value else ""


def _list_folders(name: str) -> Iterator[str]:
    """List the folders that exist and have this name."""
    waiting, seen = [("/", name)], 0
    while waiting and seen < _FOLDERS_MAX:
        folder, rest = waiting.pop()
        seen += 1
        for entry in subfolders(folder):
            own = encode_path(entry.name)
            if own == rest:
                yield entry.path
            if not own or rest.startswith(f"{own}-"):
                waiting.append((entry.path, rest[len(own) + 1 :] if own else rest))


def _list_spoken(file: BinaryIO, name: str) -> set[str]:
    """List the folders of this name that paths in a session's calls are in."""
    spoken: set[str] = set()
    for _, _, data in read_lines(file, 0, _EVIDENCE_BYTES_MAX):
        if data is None or b'"tool_use"' not in data:
            continue
        try:
            blocks = listed(fields(fields(json.loads(data)).get("message")).get("content"))
        except (ValueError, RecursionError):
            continue
        for block in blocks:
            given = fields(params(fields(block).get("input")))
            for value in (one for key in _PATH_KEYS for one in _texts(given.get(key))):
                for path in _PATHS.findall(value[:_FILE_BYTES_MAX]):
                    spoken.update(_ancestors_of_name(path, name))
        if len(spoken) > 1:
            break
    return spoken


def _texts(value: object) -> list[str]:
    return [one for one in map(text, value if isinstance(value, list) else [value]) if one]


def _ancestors_of_name(path: str, name: str) -> Iterator[str]:
    rest, folder = name, ""
    for part in filter(None, path.split("/")):
        own = encode_path(part)
        folder += f"/{part}"
        if part in (".", "..") or not (not own or rest == own or rest.startswith(f"{own}-")):
            return
        rest = rest[len(own) + 1 :] if own else rest
        if not rest:
            yield folder
            return


# The content of a line


def parse_line(value: Mapping[str, Any], state: State) -> Iterator[Record]:
    """Read one line. It has no id: its number and a digest of it are used."""
    number = state["lines"] = state.get("lines", 0) + 1
    role, content = value.get("role"), fields(value.get("message")).get("content")
    if role in ("user", "assistant"):
        said = json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass")
        group = f"{number}:{sha256(said).hexdigest()[:16]}"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, block in enumerate(listed(blocks)):
            key = f"{group}:{index}"
            if role == "user" and fields(block).get("type") in ("text", "image"):
                yield from _prompt(fields(block), key, group)
            else:
                yield from _answer(fields(block), key, group)
    elif value.get("type") == "turn_ended" and (problem := text(value.get("error"))):
        yield MessageRecord(f"{number}:ended", f"{number}:ended", "system", problem)


def _prompt(block: Mapping[str, Any], key: str, group: str) -> Iterator[Record]:
    if block.get("type") == "image":
        yield MessageRecord(key, group, "user", images=1)
        return
    own, others = part_prompt(text(block.get("text")))
    if own:
        yield MessageRecord(key, group, "user", own, is_prompt=True)
    if others:
        yield MessageRecord(f"{key}:host", f"{group}:host", "system", others)


def part_prompt(said: str) -> tuple[str, str]:
    """Separate the user's text from the host's additions: files and notes. A file may contain the
    host's marks, too; so only those at the beginning or the end count."""
    stamp = _TIMESTAMP.match(said)
    body = (said[stamp.end() :] if stamp else said).strip()
    if body.startswith(_QUERY_BEGINS):
        own, _, others = body.removeprefix(_QUERY_BEGINS).partition(_QUERY_ENDS)
        return own.strip(), others.strip()
    if body.endswith(_QUERY_ENDS):
        others, _, own = body.removesuffix(_QUERY_ENDS).rpartition(_QUERY_BEGINS)
        return own.strip(), others.strip()
    return ("", body) if _ENVELOPE.match(body) else (body, "")


def _answer(block: Mapping[str, Any], key: str, group: str) -> Iterator[Record]:
    kind = block.get("type")
    if kind == "text" and (said := text(block.get("text"))):
        yield MessageRecord(key, group, "assistant", said)
    elif kind in ("thinking", "redacted_thinking"):
        yield MessageRecord(
            key, group, "assistant", thinking_bytes=size(first_text(block, "thinking", "data"))
        )
    elif kind == "tool_use":
        tool, given = name_call(text(block.get("name")), params(block.get("input")))
        call_id = text(block.get("id")) or key
        yield call_record(key, group, tool, given, call_id, subagents=SUBAGENTS)
    elif kind == "tool_result" and (call := text(block.get("tool_use_id"))):
        is_error = block.get("is_error") is True
        said = parts_text(block.get("content"))
        yield result_record(key, said, call, failed=is_error)


def name_call(tool: str, given: object) -> tuple[str, object]:
    """Return the name and the arguments of a call; those of another server's tool are nested."""
    inner = fields(given)
    if tool in ("CallMcpTool", "call_mcp_tool") and (name := first_text(inner, "toolName", "name")):
        return f"mcp__{first_text(inner, 'server')}__{name}", params(inner.get("arguments"))
    return tool, given


# What hooks tell


# Fields according to cursor.com/docs/hooks. `tool_use_id` identifies a call and `generation_id` a
# prompt, so that hooks that are registered twice count once.

_DENIED = ("permission_denied", "denied", "rejected")


def list_records(
    event: Mapping[str, Any], event_name: str, session: str, folder: str, now: float
) -> list[Record]:
    """List the records of an event: the session, and what happened in it."""
    begin = SessionRecord(
        session,
        agent_version=first_text(event, "cursor_version"),
        working_directory=folder,
    )
    return [begin, *_READERS.get(event_name, _nothing)(event, now)]


def _prompted(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    own, _ = part_prompt(text(event.get("prompt")))
    key = f"prompt:{first_text(event, 'generation_id') or now}"
    kinds = (first_text(one, "type") for one in objects(event.get("attachments")))
    images = sum(kind == "image" for kind in kinds)
    if own or images:
        yield MessageRecord(key, key, "user", own, now, is_prompt=True, images=images)


def _called(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tool, given = name_call(text(event.get("tool_name")), params(event.get("tool_input")))
    if tool.startswith("MCP:"):
        tool = f"mcp__{tool.removeprefix('MCP:')}"
    if not tool:
        return
    call = f"call:{first_text(event, 'tool_use_id') or now}"
    model = text(event.get("model"))
    yield call_record(call, call, tool, given, call, now, model, subagents=SUBAGENTS)
    said, exit_code = _read_output(event.get("tool_output"))
    problem = text(event.get("error_message"))
    is_denied = text(event.get("failure_type")) in _DENIED
    failed = event.get("hook_event_name") == "postToolUseFailure" or bool(problem)
    key = f"{call}:result"
    outcome = problem or said, call, now, tool
    yield result_record(key, *outcome, failed=failed, ended=exit_code, is_denied=is_denied)


def _failure(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    return _called({**event, "hook_event_name": "postToolUseFailure"}, now)


def _read_output(output: object) -> tuple[str, int | None]:
    """Read the text and the exit code of a result: JSON text, for a shell with both."""
    given = params(output)
    if not isinstance(given, Mapping):
        return text(output), None
    ended = code(given.get("exitCode"))
    ended = code(given.get("exit_code")) if ended is None else ended
    streams = (first_text(given, name) for name in ("stdout", "output", "stderr", "error"))
    said = "\n".join(filter(None, streams))
    return said or text(output) or json.dumps(given, ensure_ascii=False), ended


def _compaction(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    tokens = event.get("context_tokens")
    before = tokens if isinstance(tokens, int) and 0 <= tokens < 1 << 40 else None
    key = first_text(event, "generation_id") or str(now)
    yield CompactionRecord(key, now, first_text(event, "trigger"), tokens_before=before)


def _nothing(event: Mapping[str, Any], now: float) -> Iterator[Record]:
    yield from ()


_READERS = {
    "beforeSubmitPrompt": _prompted,
    "postToolUse": _called,
    "postToolUseFailure": _failure,
    "preCompact": _compaction,
}


IMPORTER = Importer(
    "cursor",
    "Cursor",
    lambda ground: iter([projects_folder(ground)]),
    find_transcripts,
    parse_line,
    find_folder=find_folder,
)
