"""Packs written to files: never over a file that is not ours."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from base.plain_files import open_plain
from base.whole_files import new_file_mode, replace_file
from ctxmode.errors import ContextModeError, UsageError, why

FOLDER = ".context-mode"
"""Where exports go unless a place is given, below the project; git ignores it."""

HEAD_BYTES = 1024


def prepare_folder(project: Path) -> Path:
    """Make the folder of exports, which git ignores by a file of its own; return it.

    Raises:
        ContextModeError: it cannot be made, or a link stands in its place.
    """
    folder = project / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink() or not folder.is_dir():
            raise ContextModeError(f"{folder} is no folder", "Remove it, or give -o FILE.")
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(folder / ".gitignore", flags, 0o644), "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise ContextModeError(f"{folder}: {why(error)}", "Give a place by -o FILE.") from error
    return folder


def check_replaceable(path: Path, heads: tuple[str, ...]) -> None:
    """Make sure that a file may be written: that there is none, or it begins with one of `heads`.

    Raises:
        UsageError: it is another's, or no file.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder", "Give a place that exists.")
    if not os.path.lexists(path):
        return
    try:
        with open_plain(path, follow=False) as file:
            begins = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be replaced: {why(error)}", "Give the name of a new file."
        ) from error
    if not begins.startswith(tuple(head.encode() for head in heads)):
        raise UsageError(
            f"{path} was not written by this program", "Move it away, or give another name."
        )


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole.

    Raises:
        ContextModeError: it cannot be written; what was there stays.
    """
    try:
        replace_file(path, text.encode("utf-8", "replace"), mode=new_file_mode())
    except OSError as error:
        raise ContextModeError(f"{path}: {why(error)}", "Give another place by -o FILE.") from error
