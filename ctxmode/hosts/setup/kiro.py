"""The file of hooks for Kiro, which is ours alone: a list of hooks, each with its trigger."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence


def hooks_text(command: Sequence[str]) -> str:
    """The file's text. The hook's name tells whose it is, for the format has no comments."""
    hook = {
        "name": "rules of context-mode (written by `context-mode setup kiro`)",
        "trigger": "PreToolUse",
        "matcher": ".*",
        "action": {
            "type": "command",
            "command": shlex.join([*command, "hook", "kiro", "PreToolUse"]),
        },
        "enabled": True,
    }
    return json.dumps({"version": "v1", "hooks": [hook]}, indent=2) + "\n"
