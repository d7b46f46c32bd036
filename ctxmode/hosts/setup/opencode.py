"""The plugin for OpenCode, and for Kilo Code, which grew out of it, with the command to call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "hooks" / "opencode_plugin.ts"
_COMMAND = 'const COMMAND: string[] = ["context-mode"];'
_SESSIONS = "const RECORDS_SESSIONS = true;"
_KILO = '\nexport default { id: "context-mode", server: ContextMode };\n'


def plugin_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The plugin's text; it may tell us nothing of sessions and turns."""
    own = f"const COMMAND: string[] = {json.dumps(list(command))};"
    text = SOURCE.read_text(encoding="utf-8").replace(_COMMAND, own)
    return text if records_sessions else text.replace(_SESSIONS, _SESSIONS.replace("true", "false"))


def kilo_plugin_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The same for Kilo Code, which takes a plugin by its default export."""
    text = plugin_text(command, records_sessions=records_sessions).replace(
        "`context-mode setup opencode`", "`context-mode setup kilo`"
    )
    return text.rstrip() + "\n" + _KILO
