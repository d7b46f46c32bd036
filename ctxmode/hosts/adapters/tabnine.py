"""Tabnine CLI: hooks of `settings.json`, in the form of Gemini CLI's.

Source: docs.tabnine.com: tabnine-cli/features/hooks, hooks/configuration. Exit code 2 refuses, with
stderr for the agent.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmode.hosts.adapters import gemini_cli
from ctxmode.hosts.hooks.calls import Purpose, answer_by_code

FOLDER_VARIABLES = ("TABNINE_PROJECT_DIR",)
EVENTS: Mapping[str, Purpose] = {
    "BeforeTool": "judge",
    "SessionStart": "open",
    "BeforeAgent": "asked",
    "AfterAgent": "answered",
}
call = gemini_cli.call
answer = answer_by_code
add_context = gemini_cli.add_context
