"""The hosts whose transcripts are read, a row each. A row is loaded when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from memory.sessions.importers.importer import Importer

MODULES: Mapping[str, str] = {
    "claude_code": "claude_code",
    "codex": "codex",
    "gemini": "gemini_cli",
    "qwen_code": "qwen_code",
    "copilot_cli": "copilot_cli",
    "opencode": "opencode",
    "cursor": "cursor",
    "windsurf": "windsurf",
}
"""The module of each agent; it has the agent's row, `IMPORTER`."""

FORMS: Mapping[str, str] = {
    "own": "own",
    "own_lines": "own_lines",
    "chatgpt": "chatgpt",
    "gemini_export": "gemini_export",
}
"""The same of forms whose files a person names, since none is found by itself."""


def find_importer(agent: str) -> Importer | None:
    """Return the row of an agent, or of a form; None if there is none."""
    module = MODULES.get(agent) or FORMS.get(agent)
    if module is None:
        return None
    row: Importer = importlib.import_module(f"memory.sessions.importers.{module}").IMPORTER
    return row


def list_importers() -> Iterator[Importer]:
    """Yield the rows of hosts, whose transcripts are found."""
    for agent in MODULES:
        if (importer := find_importer(agent)) is not None:
            yield importer
