"""The hosts whose transcripts are read, a row each. A row is loaded when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from memory.sessions.importers.importer import Importer

AGENTS = ("claude_code",)
"""The agents by name; the module of each has its row, `IMPORTER`."""


def find_importer(agent: str) -> Importer | None:
    """Return the row of an agent, or None if there is none."""
    if agent not in AGENTS:
        return None
    row: Importer = importlib.import_module(f"memory.sessions.importers.{agent}").IMPORTER
    return row


def list_importers() -> Iterator[Importer]:
    """Yield every row."""
    for agent in AGENTS:
        if (importer := find_importer(agent)) is not None:
            yield importer
