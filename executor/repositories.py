"""What git would obey in a project: which of a repository's files, and what those lead to."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from pathlib import Path

from kb.plain_files import open_plain

ANYWHERE = Path("/")
# See gitrepository-layout(5). `commondir` names another folder whose configuration is read.
PROTECTED_IN_GIT = (
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "modules",
    "info/attributes",
)
PROTECTED_IN_WORKTREE = ("commondir", "config.worktree")
# A bare repository's own folder has a HEAD, and one of these: where `objects` lies elsewhere,
# `commondir` says where.
BARE_PARTS = frozenset({"objects", "commondir"})
MARKS = BARE_PARTS | {".git", "HEAD"}
CONFIGURATIONS = ("config", "config.worktree")
CONFIGURATION_BYTES_MAX = 1 << 20
# git-config(1): core.hooksPath, include.path, includeIf.*.path; a program's `path` no less.
_LEADS_ON = re.compile(
    r"^[ \t]*(?:\[[^]\n]*\][ \t]*)?(hookspath|path)[ \t]*=[ \t]*(.*?)[ \t]*(?:[#;].*)?$",
    re.I | re.M,
)
_WORKTREE = re.compile(r'^[ \t]*worktree[ \t]*=[ \t]*"?(.*?)"?[ \t]*$', re.I | re.M)


def obeyed(project: Path, git: str) -> Iterator[str]:
    """Paths of one repository, existing or not, that say what git runs; relative as `git` is."""
    if not (project / git).is_dir():
        # Missing; or a file, as in a worktree or submodule, that says where the repository is.
        yield git
        return
    if (project / git).is_symlink():
        yield git
    inside = [*PROTECTED_IN_GIT]
    for worktree in sorted(_names(project / git / "worktrees")):
        inside += [f"worktrees/{worktree}/{path}" for path in PROTECTED_IN_WORKTREE]
    yield from (os.path.normpath(f"{git}/{path}") for path in inside)
    yield from _led_to(project, git)


def _led_to(project: Path, git: str) -> Iterator[str]:
    """What the configuration names in the project: folders of hooks, more configuration."""
    top = str(project)
    pending = [os.path.join(top, git, name) for name in CONFIGURATIONS]
    met = set(pending)
    while pending:
        file = pending.pop()
        for key, value in _LEADS_ON.findall(_text(file)):
            # Hooks start in the working tree's top folder.
            base = os.path.dirname(os.path.join(top, git) if key.lower() != "path" else file)
            path = os.path.normpath(os.path.join(base, os.path.expanduser(value.strip('"'))))
            if path not in met and path.startswith(f"{top}/"):
                met.add(path)
                pending.append(path)
                yield os.path.relpath(path, top)


def _text(path: str) -> str:
    try:
        with open_plain(Path(path), ANYWHERE) as file:
            return file.read(CONFIGURATION_BYTES_MAX).decode("utf-8", "replace")
    except OSError:  # missing, a folder of hooks, or what never ends
        return ""


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def is_made_dangerous(path: str, existed: Container[str], exists: Container[str]) -> bool:
    """Whether a path, changed or made, would have git run something that it would not have run.

    `existed` and `exists` are the project's paths before and after.
    """
    parts = path.split("/")
    if ".git" in parts:
        at = parts.index(".git") + 1
        inside = "/".join(parts[at:])
        new = "/".join(parts[:at]) not in existed
        protected = any(inside == p or inside.startswith(f"{p}/") for p in PROTECTED_IN_GIT)
        return new or protected or not inside
    beside = path[: -len(parts[-1])]
    return _is_bare(beside, exists) and not _is_bare(beside, existed)


def _is_bare(beside: str, paths: Container[str]) -> bool:
    """Whether git takes a folder for a repository: its configuration may come later."""
    return f"{beside}HEAD" in paths and any(f"{beside}{part}" in paths for part in BARE_PARTS)


def linked(project: Path) -> tuple[str, ...]:
    """The folder outside the project that a worktree's or submodule's `.git` file leads to.

    Only a repository that knows the project in turn: whoever packed the project up chose what the
    file says, and could name any repository of the person who unpacks it.
    """
    word, _, place = _text(f"{project}/.git").strip().partition(": ")
    if "\0" in place:
        return ()
    folder = (project / place).resolve()
    if word != "gitdir" or not os.path.isfile(folder / "HEAD"):
        return ()
    if folder.is_relative_to(project) or not _knows(folder, project):
        return ()
    common = (folder / _text(f"{folder}/commondir").strip().replace("\0", "")).resolve()
    is_whole = (common / "objects").is_dir() and folder.is_relative_to(common)
    return (str(common),) if is_whole else ()


def _knows(folder: Path, project: Path) -> bool:
    """Whether a git folder says that this project is its worktree, or its submodule."""
    places = [_text(f"{folder}/gitdir").strip()]  # of a worktree
    configured = "".join(_text(f"{folder}/{name}") for name in CONFIGURATIONS)
    places += [f"{place}/.git" for place in _WORKTREE.findall(configured)]  # of a submodule
    return any(place and (folder / place).resolve() == project / ".git" for place in places)
