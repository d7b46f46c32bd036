"""Whose rules count for a project: a person's trust in it, and the projects that it lies in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from base.plain_files import read_plain
from policy.paths import lies_in

PROJECT_MARKS = (".git", ".ctxmode")
BYTES_MAX = 4 << 20  # of a file of rules, or one that says where a repository lies


def is_trusted(project: str, folders: Iterable[str], home: str) -> bool:
    """Whether a project, a real path, lies in one of the folders that a person trusts.

    What lies in a trusted project, as a dependency or a submodule does, is another's. A folder in
    the project itself says nothing of it: whoever writes there could lead the name anywhere.
    """
    outer = around(project, home)
    for folder in folders:
        written = os.path.normpath(os.path.join(home, folder.removeprefix("~/")))
        real = os.path.realpath(written)
        is_inner = any(lies_in(one, real) for one in outer)
        way = map(os.path.realpath, _above(written))
        if lies_in(project, real) and not is_inner and not any(lies_in(w, project) for w in way):
            return True
    return False


def around(project: str, home: str) -> list[str]:
    """The projects that a project, a real path, lies in, the nearest first.

    As where a project is looked for, neither the home folder nor what is above it is one. Nor is
    what another user has made, as anybody may in `/tmp`.
    """
    found = []
    owners = {os.geteuid(), _owner(project)} - {None}
    for folder in _above(project):
        if lies_in(home, folder):
            break
        if any(_owner(os.path.join(folder, mark)) in owners for mark in PROJECT_MARKS):
            found.append(folder)
    return found


def main_checkout(project: str) -> str | None:
    """The folder that a worktree of git belongs to; None for any other project."""
    try:
        text = read_plain(os.path.join(project, ".git"), BYTES_MAX).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    folder, found, _ = text.removeprefix("gitdir: ").partition("/.git/worktrees/")
    return folder if found and folder.startswith("/") else None


def _owner(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first."""
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path
