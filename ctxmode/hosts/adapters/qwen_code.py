"""Qwen Code: hooks of `settings.json`, in the form of Claude Code's.

Source: the package @qwen-code/qwen-code 0.24.4, its docs/features/hooks.md. It asks the person in
its terminal; where nobody can be asked, it takes `ask` for a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.adapters import claude_code
from ctxmode.hosts.hooks.calls import Purpose

FOLDER_VARIABLES = ("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
# UserPromptSubmit rings before every request of the model, with an empty prompt after the first.
EVENTS: Mapping[str, Purpose] = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "PreCompact": "compact",
    "SessionEnd": "end",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
call = claude_code.call
answer = claude_code.answer
add_context = claude_code.add_context
