"""Outcomes of Codex's calls: events are stored until the call's output comes.

If the tool runs a command, the output begins with the host's own header; the program's own output
comes after it, and is not used here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memory.sessions.importers.importer import State
from memory.sessions.importers.record_fields import result_record
from memory.sessions.importers.untrusted_json import (
    code,
    fields,
    first_text,
    objects,
    parts_text,
    text,
)
from memory.sessions.records import FileAction, MessageRecord

_SHELLS = frozenset(
    [
        *("exec", "exec_command", "shell", "shell_command", "local_shell", "container.exec"),
        *("unified_exec", "write_stdin", "apply_patch"),
    ]
)
_HEADER = re.compile(
    r"(?:Chunk ID: \S{1,40}\n)?(?:Wall time: [^\n]{1,40}\n)?Process exited with code (-?\d{1,9})\n|"
    r"Exit code: (-?\d{1,9})\nWall time: "
)
_DENIED = re.compile(
    r"(?:(?:exec command|patch) rejected by user|(?:Tool call|Command) blocked by \w{1,40} hook: |"
    r"[^\n]{0,200}rejected by user approval settings)"
)
_ENDS = frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end"})
_ACTIONS: Mapping[str, FileAction] = {
    "add": "created",
    "update": "modified",
    "delete": "deleted",
}
_FILES_MAX = 1000


def note(kind: object, payload: Mapping[str, Any], state: State) -> None:
    """Store an event's data about a call's end."""
    item = fields(payload.get("item")) if kind == "item_completed" else payload
    if kind != "item_completed" and kind not in _ENDS:
        return
    call_id = first_text(item, "call_id", "id")
    call = state.get("calls", {}).get(call_id)
    if call is None:
        return
    status = text(item.get("status"))
    result = item.get("result")
    is_error = "Err" in result if isinstance(result, Mapping) else False
    call["code"] = code(item.get("exit_code"))
    call["failed"] = status == "failed" or item.get("success") is False or is_error
    call["denied"] = status == "declined"
    if not call["failed"] and not call["denied"]:
        call["files"] = _files(item.get("changes"))


def _files(changes: object) -> list[list[str]]:
    found: list[list[str]] = []
    for path, change in list(fields(changes).items())[:_FILES_MAX]:
        kind = text(fields(change).get("type")) or next(iter(fields(change)), "")
        found.append([str(path), _ACTIONS.get(str(kind), "modified")])
        if moved := first_text(fields(change), "move_path"):
            found[-1][1] = "deleted"
            found.append([moved, "created"])
    return found


def result(item: Mapping[str, Any], key: str, at: float | None, state: State) -> MessageRecord:
    """Return a call's output, with the data about its end."""
    call_id = first_text(item, "call_id", "id")
    call = state.get("calls", {}).pop(call_id, {})
    output = item.get("output")
    told = fields(output)
    said = parts_text(output) or parts_text(told.get("content")) or text(told.get("output"))
    ended = call.get("code")
    if call.get("tool") in _SHELLS:
        said, ended = _read_header(said, ended)
    is_denied = bool(call.get("denied")) or bool(_DENIED.match(said))
    return result_record(
        key,
        said,
        call_id,
        at,
        text(call.get("tool")),
        failed=bool(call.get("failed")) or told.get("success") is False,
        ended=ended,
        is_denied=is_denied,
        files=tuple((path, action) for path, action in call.get("files", ())),
        images=sum(one.get("type") == "input_image" for one in objects(output)),
    )


def _read_header(said: str, ended: int | None) -> tuple[str, int | None]:
    """Return the text and the exit code of a command's output, from its JSON or its header."""
    if said.startswith('{"output"'):
        try:
            read = fields(json.loads(said))
        except (ValueError, RecursionError):
            read = fields(None)
        if isinstance(read.get("output"), str):
            if ended is None:
                ended = code(fields(read.get("metadata")).get("exit_code"))
            return read["output"], ended
    header = _HEADER.match(said)
    return said, int(header[1] or header[2]) if header and ended is None else ended
