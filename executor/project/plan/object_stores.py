"""Where the objects of the git repositories around a path lie, as far as that is in the project."""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Iterator

from executor.project.view.contents import read_some
from executor.project.view.record import Record
from executor.project.view.tree import Tree, split

TEXT_BYTES_MAX = 1 << 16
ALTERNATES_MAX = 16


def stores(path: str, record: Record, project: Tree) -> Iterator[str]:
    """The folders of objects of the repositories in whose working trees a path lies."""
    while path:
        path, _ = split(path)
        git = git_folder(path, record, project)
        if git:
            yield from _with_alternates(
                f"{common_folder(git, record, project)}/objects", record, project
            )


def git_folder(top: str, record: Record, project: Tree) -> str:
    """The repository's own folder of a working tree; empty if there is none in the project.

    A worktree's or submodule's `.git` is a file that says where it is.
    """
    git = f"{top}/.git" if top else ".git"
    state = record.states.get(git)
    if state is None or stat.S_ISDIR(state.mode):
        return git if state else ""
    word, _, place = _text(git, project).partition(": ")
    return _inside(posixpath.join(top, place), record) if word == "gitdir" else ""


def common_folder(git: str, record: Record, project: Tree) -> str:
    """The folder that a worktree shares with the repository that it is of; else its own."""
    place = _text(f"{git}/commondir", project)
    return (place and _inside(posixpath.join(git, place), record)) or git


def _with_alternates(objects: str, record: Record, project: Tree) -> Iterator[str]:
    pending, met = [objects], set[str]()
    while pending and len(met) < ALTERNATES_MAX:
        at = pending.pop()
        if at in met or at not in record.states:
            continue
        met.add(at)
        yield at
        lines = _text(f"{at}/info/alternates", project).splitlines()
        pending += filter(None, (_inside(posixpath.join(at, line), record) for line in lines))


def _inside(path: str, record: Record) -> str:
    """A path of the project; empty for what lies elsewhere."""
    path = posixpath.normpath(path).removeprefix(f"{record.project}/")
    return "" if path.startswith(("/", "../")) or path in ("", ".", "..") else path


def _text(path: str, project: Tree) -> str:
    """A small file's text; empty where there is none."""
    try:
        return (read_some(project, path, TEXT_BYTES_MAX) or b"").decode().strip()
    except (OSError, UnicodeError):
        return ""
