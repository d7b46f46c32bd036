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
}
"""The module of each agent; it has the agent's row, `IMPORTER`."""


def find_importer(agent: str) -> Importer | None:
    """Return the row of an agent, or None if there is none."""
    module = MODULES.get(agent)
    if module is None:
        return None
    row: Importer = importlib.import_module(f"memory.sessions.importers.{module}").IMPORTER
    return row


def list_importers() -> Iterator[Importer]:
    """Yield every row."""
    for agent in MODULES:
        if (importer := find_importer(agent)) is not None:
            yield importer
