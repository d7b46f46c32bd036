"""The hosts whose hooks are understood: their names, and the module that speaks each one's form."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ctxmode.hosts.hooks.adapter import Adapter

HOSTS: Mapping[str, str] = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini-cli": "gemini_cli",
    "cursor": "cursor",
    "vscode-copilot": "vscode_copilot",
    "opencode": "opencode",
}
# Where a host documents for its hooks in which folder it works.
FOLDER_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("CLAUDE_PROJECT_DIR",),
    "gemini-cli": ("GEMINI_CWD", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    "cursor": ("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
}


def adapter(host: str) -> Adapter | None:
    """The adapter of a host; None if it is not known."""
    module = HOSTS.get(host)
    if module is None:
        return None
    return cast("Adapter", importlib.import_module(f"ctxmode.hosts.hooks.{module}"))
