"""CodeBuddy Code: hooks of `settings.json`, in the form of Claude Code's.

Source: codebuddy.ai/docs/cli/hooks (1.16 and later), which calls them compatible in full.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Purpose

FOLDER_VARIABLES = ("CODEBUDDY_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
call = claude_code.call
answer = claude_code.answer
add_context = claude_code.add_context
