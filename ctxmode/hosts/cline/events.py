"""Cline: a hook is a program named as its event, in a folder of hooks.

Source: the repository cline/cline, .clinerules/hooks/README.md and sdk/packages/core/src/hooks
(command line 3.0, extension 4.1). Both send the arguments as texts; the command line also sends
them unchanged. A refusal ends the whole run. The command line (seen with 3.0.65) also accepts
replaced arguments, so a refused call becomes a call that does nothing, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ctxmode.hosts.hooks.hook_types import Answer, Ruling, ToolCall, read_json, refuse
from ctxmode.hosts.hooks.tool_names import tool_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxmode.hosts.hooks.hook_event import Event

# Arguments that replace those of a refused call: a command that prints why, or an impossible file.
_NO_FILE = "/dev/null/refused"
_INSTEAD: Mapping[str, Mapping[str, Any]] = {
    "run_commands": {"commands": []},
    "read_files": {"files": [{"path": _NO_FILE}]},
    "editor": {"path": _NO_FILE, "new_text": ""},
}


def call(event: Mapping[str, Any]) -> ToolCall | None:
    """Read the call. A server's tool is `SERVER__TOOL` in the command line, and is named by
    arguments in the extension."""
    tool_use = event.get("preToolUse") or {}
    sent = event.get("tool_call") or {}
    name = sent.get("name") or tool_use["toolName"]
    given = sent.get("input") or _parse_texts(tool_use.get("parameters"))
    roots = event.get("workspaceRoots")
    cwd = roots[0] if isinstance(roots, list) and roots else ""
    if name == "use_mcp_tool" and isinstance(given, Mapping):
        name = f"{given.get('server_name')}__{given.get('tool_name')}"
        given = given.get("arguments")
    found = tool_call(f"mcp__{name}" if "__" in name else name, given, cwd)
    return found._replace(instead=_INSTEAD.get(name)) if found and sent else found


def _parse_texts(parameters: object) -> dict[str, Any]:
    """Parse arguments; those that are not texts are sent as JSON."""
    given = parameters if isinstance(parameters, Mapping) else {}
    return {key: _parse_text(value) for key, value in given.items()}


def _parse_text(value: object) -> object:
    if value == "null" or not isinstance(value, str) or value[:1] not in ("[", "{"):
        return None if value == "null" else value
    try:
        return read_json(value)
    except ValueError:  # a shell command may begin with a bracket
        return value


def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
    del event_name
    said = refuse(ruling)
    if said.kind == "deny" and said.instead:
        instead = {"commands": [_print(said.text)]} if "commands" in said.instead else said.instead
        return {"cancel": False, "overrideInput": instead, "errorMessage": said.text}
    if said.kind == "deny":
        return {"cancel": True, "errorMessage": said.text}
    return {"cancel": False, "contextModification": said.text} if said.kind == "advise" else None


def _print(reason: str) -> str:
    """Build a command that prints a text; no part of the text is executed."""
    import shlex  # noqa: PLC0415 - only a refusal needs it

    return f"printf '%s\\n' {shlex.quote(reason)}; false"


def add_context(text: str, event_name: str) -> Answer:
    del event_name
    return {"cancel": False, "contextModification": text}


# Cline 3.0.65 has no prompt event for the first prompt of a run, and its event at the end of a turn
# has only the answer. By then Cline's own record has the prompt. Source: the repository
# cline/cline, sdk/packages/shared/src/storage/paths.ts.

RECORD_BYTES_MAX = 16 << 20
FOLDER = "~/.cline/data/sessions"


def read_texts(hook: Event) -> Iterator[str]:
    """Yield the user's texts in an event's session, last first. Results of tools count as messages
    of the user, too."""
    from base.plain_files import open_plain  # noqa: PLC0415

    context = hook.event.get("sessionContext")
    session = context.get("rootSessionId") if isinstance(context, dict) else None
    if not isinstance(session, str) or not session.replace("_", "").replace("-", "").isalnum():
        return
    from base.host_homes import find_place  # noqa: PLC0415

    folder = find_place(FOLDER, hook.home, hook.environ)
    path = os.path.join(folder, session, f"{session}.messages.json")
    try:
        with open_plain(path, follow=False) as file:
            record = file.read(RECORD_BYTES_MAX + 1)
        kept = read_json(record) if len(record) <= RECORD_BYTES_MAX else None
    except (OSError, ValueError, RecursionError):
        return
    messages = kept.get("messages") if isinstance(kept, dict) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"text": content}]:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield text
