"""Which hosts' transcripts are read, where and which of them: the table of hosts as a person's
settings have it (R12). Hooks load this, so nothing else is here."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from base.clock import DAY_S
from ctxmode.config.transcripts import Recording, SourceChoice
from memory.sessions.importers import MODULES, Ground, Importer, Transcript, find_importer

if TYPE_CHECKING:
    from ctxmode.config.locations import Config


def list_sources(recording: Recording, home: str) -> Iterator[Importer]:
    """Yield the row of each host whose transcripts are read."""
    for agent in MODULES:
        if (importer := find_source(agent, recording, home)) is not None:
            yield importer


def find_oldest(config: Config) -> float:
    """Return the time since which a session must have been active to be kept."""
    from ctxmode.config.settings import load_settings  # noqa: PLC0415 - hooks need none of this

    values = load_settings(config.project, config.config_home).values
    return time.time() - float(values["transcripts.keep_days"]) * DAY_S


def find_source(agent: str, recording: Recording, home: str) -> Importer | None:
    """Return the row of a host as a person chose it; None if it has none, or is turned off."""
    choice = recording.choice(agent)
    importer = find_importer(agent) if choice.enabled else None
    if importer is None or not (choice.path or choice.pattern):
        return importer
    return apply_choice(importer, choice, home)


def apply_choice(importer: Importer, choice: SourceChoice, home: str) -> Importer:
    """Return a row that looks in another folder, or for certain names alone."""
    folder = expand(choice.path, home)

    def move(ground: Ground) -> Ground:
        return ground._replace(root=folder) if folder else ground

    def find(ground: Ground) -> Iterator[Transcript]:
        return (one for one in importer.find(move(ground)) if is_chosen(one.path, choice, home))

    return importer._replace(roots=lambda ground: importer.roots(move(ground)), find=find)


def is_chosen(path: str, choice: SourceChoice, home: str) -> bool:
    """Tell whether a transcript is one of those that a person chose."""
    folder = expand(choice.path, home)
    is_named = not choice.pattern or fnmatchcase(os.path.basename(path), choice.pattern)
    return is_named and (not folder or path.startswith(f"{folder}/"))


def expand(path: str, home: str) -> str:
    """Return a folder with the person's home in place of `~`."""
    whole = os.path.join(home, path[2:]) if path.startswith("~/") else path
    return whole.rstrip("/")
