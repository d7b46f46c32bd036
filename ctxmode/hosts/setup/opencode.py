"""The plugin for OpenCode, and for Kilo Code, which grew out of it, with the command to call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "hooks" / "opencode_plugin.ts"
_COMMAND = 'const COMMAND: string[] = ["context-mode"];'
_SESSIONS = "const RECORDS_SESSIONS = true;"
_KILO = '\nexport default { id: "context-mode", server: ContextMode };\n'


def plugin_text(command: Sequence[str]) -> str:
    """The plugin's text."""
    own = f"const COMMAND: string[] = {json.dumps(list(command))};"
    return SOURCE.read_text(encoding="utf-8").replace(_COMMAND, own)


def leave_sessions_out(text: str) -> str:
    """The same plugin, which tells us nothing of sessions; other texts stay as they are."""
    return text.replace(_SESSIONS, _SESSIONS.replace("true", "false"))


def kilo_plugin_text(command: Sequence[str]) -> str:
    """The same for Kilo Code, which takes a plugin by its default export."""
    text = plugin_text(command).replace(
        "`context-mode setup opencode`", "`context-mode setup kilo`"
    )
    return text.rstrip() + "\n" + _KILO
