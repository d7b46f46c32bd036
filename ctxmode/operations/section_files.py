"""Writing our section of a file that a person keeps, and keeping ContextOS's DECISIONS.md."""

from __future__ import annotations

import os
from pathlib import Path

from base.plain_files import read_plain
from base.whole_files import new_file_mode, replace_file
from ctxmode.config.locations import Config
from ctxmode.config.rules import make_hides
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.operations.facts import translate_fact_errors
from ctxmode.operations.tasks import CONTEXTOS_FOLDER
from memory.facts import DECISIONS, Memory, export_decisions, import_facts, put_section
from policy.project_file import read_project_file

DOCUMENT_BYTES_MAX = 4 << 20


def write_section(target: Path, section: str) -> int:
    """Replace our section of a file, which is made where it is missing; return the file's size.

    A CLAUDE.md is often a link to an AGENTS.md, which stays one.

    Raises:
        OSError: it cannot be written.
        UsageError: its marks are no pair.
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
    """Return the path of ContextOS's DECISIONS.md, there or not; None in a project without its
    folder.

    Raises:
        UsageError: a link leads out of the project.
    """
    folder = project / CONTEXTOS_FOLDER
    if not folder.is_dir():
        return None
    path = folder / DECISIONS
    if not path.resolve().is_relative_to(project):
        raise UsageError(f"{path} leads out of the project", "Put a file there.")
    return path


def read_decisions(config: Config, memory: Memory, path: Path, branch: str) -> int:
    """Take over what a person wrote into DECISIONS.md; return how many facts are new or changed.

    Raises:
        ContextModeError: it cannot be read.
        UsageError: it is no text, or too large.
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
            f"{path}: {why(error)}", "Make it a file that can be read."
        ) from error
    if not text.strip():
        return 0
    with translate_fact_errors():
        found = import_facts(
            store, text, form="decisions", author=memory.author, branch=branch, source=DECISIONS
        )
    return len(found.added) + len(found.changed)


def write_decisions(memory: Memory, path: Path, branch: str) -> None:
    """Write what was decided into our section of DECISIONS.md.

    Raises:
        ContextModeError: it cannot be written; the facts stand.
        UsageError: its marks are no pair.
    """
    if memory.project is None:
        return
    with translate_fact_errors():
        section = export_decisions(memory.project, branch)
    try:
        write_section(path, section)
    except OSError as error:
        raise ContextModeError(
            f"the decision is kept, and {path} could not be written: {why(error)}",
            "Mend it, then: context-mode memory export --format decisions -o FILE",
        ) from error
