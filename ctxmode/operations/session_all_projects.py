"""Reading of transcripts in all projects, on the user's explicit request. Each session is
stored in the project that it worked in, if that project's settings allow it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ctxmode.config.file_names import find_project
from ctxmode.config.locations import Config
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_sources import find_oldest, list_sources
from ctxmode.operations.session_tracking import maintain
from memory.sessions import Imported, needs_reading, read_folder
from memory.sessions.importers import Ground, Importer, Transcript


def track_everywhere(config: Config) -> list[Imported]:
    """Read new transcript lines in all projects; return the result of each. Transcripts of
    unknown projects are skipped."""
    of_projects: dict[str, list[tuple[Importer, Transcript]]] = {}
    for importer, found in _list_all(config):
        if project := _find_project(read_folder(importer, found), str(config.home)):
            of_projects.setdefault(project, []).append((importer, found))
    done: list[Imported] = []
    for project, transcripts in of_projects.items():
        done += _read_one(replace(config, project=Path(project)), transcripts)
    return done


def _list_all(config: Config) -> Iterator[tuple[Importer, Transcript]]:
    recording = operations.read_recording(config)
    ground = Ground(str(config.home), os.environ)
    for importer in list_sources(recording, str(config.home)):
        for found in importer.find(ground):
            yield importer, found


def _find_project(folder: str, home: str) -> str:
    if not os.path.isabs(folder) or "\0" in folder:
        return ""
    try:
        return find_project(os.path.realpath(folder), home)
    except (OSError, ValueError):
        return ""


def _read_one(config: Config, transcripts: list[tuple[Importer, Transcript]]) -> list[Imported]:
    recording = operations.read_recording(config)
    if not recording.events:
        return []
    oldest = find_oldest(config)
    with operations.open_sessions(config, create=True) as store:
        done = [
            store.import_transcript(importer, found)
            for importer, found in transcripts
            if recording.choice(importer.agent).enabled
            and needs_reading(store.database, found, oldest)
        ]
        maintain(config, store, None)
    return [one for one in done if not one.elsewhere]
