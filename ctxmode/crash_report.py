"""The report of a defect in this program: one sentence, and a log with the details."""

from __future__ import annotations

import datetime
import os
import sqlite3
import sys
import tempfile
import traceback
from importlib import metadata
from pathlib import Path

from ctxmode import __version__

LIBRARIES = ("trio", "mcp", "tree-sitter", "pyseccomp", "rich")


def report(error: BaseException) -> str:
    """Write the log of a defect and return the text that names it."""
    name = _mask(f"{type(error).__name__}: {error}").splitlines()[0][:300]
    try:
        path = _write(error)
    except OSError:
        return f"context-mode: a defect of this program: {name}\n"
    return f"context-mode: a defect of this program: {name}\n  The whole story is in {path}\n"


def _write(error: BaseException) -> Path:
    folder = _folder()
    now = datetime.datetime.now(datetime.UTC)
    path = folder / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}.log"
    story = _mask("".join(traceback.format_exception(error)))
    content = "\n".join([f"time: {now.isoformat()}", *_versions(), "", story])
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as log:
        log.write(content)
    return path


def _mask(text: str) -> str:
    """Return a text without secrets; empty if the search for secrets fails."""
    try:
        from base.secrets import redact  # noqa: PLC0415 - it may be what is broken

        return redact(text)[0]
    except Exception:
        return "left out, as it could not be searched for secrets"


def _folder() -> Path:
    from ctxmode.config.locations import load_config  # noqa: PLC0415 - it may be what is broken

    try:
        folder = load_config().log_dir
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except Exception:
        return Path(tempfile.mkdtemp(prefix="context-mode-"))
    return folder


def _versions() -> list[str]:
    system = os.uname()  # the module platform starts a program for the same
    lines = [
        f"context-mode: {__version__}",
        f"python: {sys.version.split()[0]} on {system.sysname} {system.release} {system.machine}",
        f"sqlite: {sqlite3.sqlite_version}",
    ]
    for library in LIBRARIES:
        try:
            lines.append(f"{library}: {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{library}: missing")
    return lines
