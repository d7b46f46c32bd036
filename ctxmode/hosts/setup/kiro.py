"""The file of hooks for Kiro, which is ours alone: a list of hooks, each with its trigger."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

_JUDGED = "PreToolUse"
_TURNS = ("UserPromptSubmit", "Stop")


def hooks_text(command: Sequence[str], *, records_sessions: bool = True) -> str:
    """The file's text; it may leave out the hooks of turns."""
    hooks = [_hook(command, "rules", _JUDGED, matcher=".*")]
    if records_sessions:
        hooks += [_hook(command, "turns", trigger) for trigger in _TURNS]
    return json.dumps({"version": "v1", "hooks": hooks}, indent=2) + "\n"


def _hook(command: Sequence[str], purpose: str, trigger: str, **more: str) -> dict[str, Any]:
    """A hook. Its name tells whose it is, for the format has no comments."""
    line = shlex.join([*command, "hook", "kiro", trigger])
    return {
        "name": f"{purpose} of context-mode (written by `context-mode setup kiro`)",
        "trigger": trigger,
        **more,
        "action": {"type": "command", "command": line},
        "enabled": True,
    }
