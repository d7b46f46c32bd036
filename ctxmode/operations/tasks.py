"""The current task: stored as a fact of the session, used by packs and maps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from base.plain_files import new_file_mode, read_plain, replace_file
from ctxmode.config.locations import Config
from ctxmode.config.rules import make_hides
from ctxmode.errors import ContextModeError, UsageError, command, why
from ctxmode.operations.facts import PERSON, open_memory, translate_fact_errors
from memory.facts import (
    DECISIONS,
    Author,
    Draft,
    Memory,
    UnknownFactError,
    export_decisions,
    import_facts,
    put_section,
)
from policy.project_file import read_project_file

PATH = "/sessions/current/task"
"""Facts below /sessions/ expire after 30 days; no project fact has this path."""

CONTEXTOS_FOLDER = ".contextos"
CONTEXTOS_FILES = ("CURRENT_TASK.md", "MEMORY.md", "DECISIONS.md")
"""ContextOS's own files: the first is the default task. Paths in these files count as mentioned in
the task."""

CONTEXTOS_BYTES = 256 * 1024
Source = Literal["", "given", "kept", "file"]


Task = tuple[str, Source]
"""A task, and its origin: the call, the stored task, or ContextOS's file; empty if there is
none."""


def find_task(config: Config, given: str, texts: dict[str, str]) -> Task:
    """Choose the task: the given one, else the stored one, else ContextOS's."""
    if given.strip():
        return given.strip(), "given"
    if kept := read_task(config):
        return kept, "kept"
    from_file = texts.get(CONTEXTOS_FILES[0], "").strip()
    return from_file, "file" if from_file else ""


def read_task(config: Config) -> str:
    """Return the stored task; empty without one."""
    with open_memory(config) as memory:
        try:
            return memory.find(PATH).text
        except UnknownFactError:
            return ""


def keep_task(config: Config, text: str) -> int:
    """Store a task, replacing the previous one; return how many secrets were redacted. Raise
    UsageError if it is empty, or larger than 16 KiB."""
    if not text.strip():
        raise UsageError("the task is empty", f"Describe it, or: {command('pack task clear')}")
    draft = Draft(text.strip(), title="Current task", path=PATH, scope="session")
    with open_memory(config, Author(PERSON), to_write="project") as memory:
        return memory.remember(draft).redactions


def clear_task(config: Config) -> bool:
    """Delete the stored task; return whether there was one."""
    if not read_task(config):
        return False
    with open_memory(config, Author(PERSON)) as memory:
        memory.forget(PATH)
    return True


def read_contextos(config: Config) -> dict[str, str]:
    """Return the texts of ContextOS's files that exist and may be read, by name."""
    found = {}
    hides = make_hides(config.project, config.home)
    for name in CONTEXTOS_FILES:
        path = f"{CONTEXTOS_FOLDER}/{name}"
        try:
            data = read_project_file(path, str(config.project), hides, CONTEXTOS_BYTES)
        except OSError:
            continue
        found[name] = data.decode("utf-8", "replace")
    return found


DOCUMENT_BYTES_MAX = 4 << 20


def write_section(target: Path, section: str) -> int:
    """Replace our section of a file, or create the file; return its size.

    A link, such as a CLAUDE.md that points to an AGENTS.md, remains a link.

    Raises:
        OSError: it cannot be written.
        UsageError: its section marks are unpaired.
    """
    real = target.resolve()
    old = read_plain(real, DOCUMENT_BYTES_MAX) if os.path.lexists(real) else b""
    with translate_fact_errors():
        document = put_section(old.decode(errors="surrogateescape"), section)
    data = document.encode(errors="surrogateescape")
    mode = real.stat().st_mode & 0o7777 if real.exists() else new_file_mode()
    replace_file(real, data, mode=mode)
    return len(data)


def find_decisions_file(project: Path) -> Path | None:
    """Return the path of ContextOS's DECISIONS.md, which may be missing; None if its folder is.
    Raise UsageError if a link points outside the project."""
    folder = project / CONTEXTOS_FOLDER
    if not folder.is_dir():
        return None
    path = folder / DECISIONS
    if not path.resolve().is_relative_to(project):
        raise UsageError(f"{path} points outside the project", "Replace it with a file.")
    return path


def read_decisions(config: Config, memory: Memory, path: Path, branch: str) -> int:
    """Import the user's entries in DECISIONS.md; return how many facts are new or changed.

    Raises:
        ContextModeError: it cannot be read.
        UsageError: it is not text, or too large.
    """
    store = memory.project
    if store is None or not path.exists():
        return 0
    try:
        hides = make_hides(config.project, config.home)
        data = read_project_file(str(path), str(config.project), hides, DOCUMENT_BYTES_MAX)
        text = data.decode("utf-8", "replace")
    except OSError as error:
        raise ContextModeError(
            f"cannot read {path}: {why(error)}", "Make it a readable file."
        ) from error
    if not text.strip():
        return 0
    with translate_fact_errors():
        found = import_facts(
            store, text, form="decisions", author=memory.author, branch=branch, source=DECISIONS
        )
    return len(found.added) + len(found.changed)


def write_decisions(memory: Memory, path: Path, branch: str) -> None:
    """Write the decisions into our section of DECISIONS.md.

    Raises:
        ContextModeError: it cannot be written; the facts are stored.
        UsageError: its section marks are unpaired.
    """
    if memory.project is None:
        return
    with translate_fact_errors():
        section = export_decisions(memory.project, branch)
    try:
        write_section(path, section)
    except OSError as error:
        raise ContextModeError(
            f"stored the decision, but cannot write {path}: {why(error)}",
            f"Fix that, then: {command('memory export --format decisions -o FILE')}",
        ) from error
