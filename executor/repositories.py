"""What git would obey in a project: which of a repository's files, and what those lead to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kb.plain_files import open_plain
from policy import real_path

ANYWHERE = Path("/")
# A bare repository's own folder has a HEAD, and one of these: where `objects` lies elsewhere,
# `commondir` says where.
BARE_PARTS = frozenset({"objects", "commondir"})
CONFIGURATIONS = ("config", "config.worktree")
CONFIGURATION_BYTES_MAX = 1 << 20
# git-config(1): core.hooksPath, include.path, includeIf.*.path; a program's `path` no less.
_LEADS_ON = re.compile(
    r"^[ \t]*(?:\[[^]\n]*\][ \t]*)?(hookspath|path)[ \t]*=[ \t]*(.*?)[ \t]*(?:[#;].*)?$",
    re.I | re.M,
)
_WORKTREE = re.compile(r'^[ \t]*worktree[ \t]*=[ \t]*"?(.*?)"?[ \t]*$', re.I | re.M)


def configured(project: Path, git: str) -> Iterator[str]:
    """Absolute paths in the project that a repository's configuration names, existing or not.

    Folders of hooks, and more configuration. `git` is relative to the project.
    """
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
                yield path


def _text(path: str) -> str:
    try:
        with open_plain(Path(path), ANYWHERE) as file:
            return file.read(CONFIGURATION_BYTES_MAX).decode("utf-8", "replace")
    except OSError:  # missing, a folder of hooks, or what never ends
        return ""


def linked(project: Path) -> tuple[str, ...]:
    """The folder outside the project that a worktree's or submodule's `.git` file leads to.

    Only a repository that knows the project in turn: whoever packed the project up chose what the
    file says, and could name any repository of the person who unpacks it.
    """
    word, _, place = _text(f"{project}/.git").strip().partition(": ")
    if "\0" in place:
        return ()
    folder = Path(real_path(f"{project / place}"))
    if word != "gitdir" or not os.path.isfile(folder / "HEAD"):
        return ()
    if folder.is_relative_to(project) or not _knows(folder, project):
        return ()
    common = Path(real_path(f"{folder / _text(f'{folder}/commondir').strip()}"))
    is_whole = (common / "objects").is_dir() and folder.is_relative_to(common)
    return (str(common),) if is_whole else ()


def _knows(folder: Path, project: Path) -> bool:
    """Whether a git folder says that this project is its worktree, or its submodule."""
    places = [_text(f"{folder}/gitdir").strip()]  # of a worktree
    configured = "".join(_text(f"{folder}/{name}") for name in CONFIGURATIONS)
    places += [f"{place}/.git" for place in _WORKTREE.findall(configured)]  # of a submodule
    return any(place and real_path(f"{folder / place}") == f"{project}/.git" for place in places)
