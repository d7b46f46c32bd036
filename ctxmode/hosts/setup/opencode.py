"""The plugin for OpenCode, with the command that it calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "hooks" / "opencode_plugin.ts"
_COMMAND = 'const COMMAND: string[] = ["context-mode"];'


def plugin_text(command: Sequence[str]) -> str:
    """The plugin's text."""
    own = f"const COMMAND: string[] = {json.dumps(list(command))};"
    return SOURCE.read_text(encoding="utf-8").replace(_COMMAND, own)
