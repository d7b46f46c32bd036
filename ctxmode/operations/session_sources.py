"""The hosts whose transcripts are read, with paths and patterns from the user's settings (R12).
Hooks load this module, so it contains nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from base.clock import DAY_S
from ctxmode.config.transcripts import Recording, SourceChoice
from ctxmode.hosts.registry import find_importer, list_agents
from memory.sessions.importers import Ground, Importer, Transcript

if TYPE_CHECKING:
    from ctxmode.config.locations import Config


def list_sources(recording: Recording, home: str) -> Iterator[Importer]:
    """Yield the row of each host whose transcripts are read."""
    for agent in list_agents():
        if (importer := find_source(agent, recording, home)) is not None:
            yield importer


def find_oldest(config: Config) -> float:
    """Return the time of the oldest last activity of sessions that are kept."""
    from ctxmode.config.settings import load_settings  # noqa: PLC0415 - hooks do not need it

    values = load_settings(config.project, config.config_home).values
    return time.time() - float(values["transcripts.keep_days"]) * DAY_S


def find_source(agent: str, recording: Recording, home: str) -> Importer | None:
    """Return the row of a host with the user's settings; None if unknown or turned off."""
    choice = recording.choice(agent)
    importer = find_importer(agent) if choice.enabled else None
    if importer is None or not (choice.path or choice.pattern):
        return importer
    return apply_choice(importer, choice, home)


def apply_choice(importer: Importer, choice: SourceChoice, home: str) -> Importer:
    """Return a row that searches another folder, or only certain names."""
    folder = expand(choice.path, home)

    def move(ground: Ground) -> Ground:
        return ground._replace(root=folder) if folder else ground

    def find(ground: Ground) -> Iterator[Transcript]:
        return (one for one in importer.find(move(ground)) if is_chosen(one.path, choice, home))

    return importer._replace(roots=lambda ground: importer.roots(move(ground)), find=find)


def is_chosen(path: str, choice: SourceChoice, home: str) -> bool:
    """Return whether a transcript matches the user's settings."""
    folder = expand(choice.path, home)
    is_named = not choice.pattern or fnmatchcase(os.path.basename(path), choice.pattern)
    return is_named and (not folder or path.startswith(f"{folder}/"))


def expand(path: str, home: str) -> str:
    """Return a folder with `~` replaced by the user's home."""
    whole = os.path.join(home, path[2:]) if path.startswith("~/") else path
    return whole.rstrip("/")
