"""The repository outside of a project to which a worktree's or submodule's `.git` file leads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from base.bounded_run import BoundedRunError, Bounds, run_bounded
from base.plain_files import read_head
from executor.project.git.host import GitError, HostGit
from policy import real_path

BOUNDS: Final = Bounds(seconds=5.0, output_bytes=1 << 16)


def find_linked(project: Path) -> tuple[str, ...]:
    """Find the folder of that repository, if there is one: none or one path.

    Only a repository that knows the project in turn: whoever packed the project up chose what the
    file says, and could name any repository of the person who unpacks it.
    """
    if not os.path.isfile(project / ".git"):
        return ()
    said = _ask(project / ".git", "rev-parse", "--absolute-git-dir", "--git-common-dir")
    if len(said) != 2:
        return ()
    folder, common = (Path(real_path(os.path.join("/", path))) for path in said)
    is_outside = folder.is_relative_to(common) and not folder.is_relative_to(project)
    return (str(common),) if is_outside and _knows(folder, project) else ()


def _knows(folder: Path, project: Path) -> bool:
    """Return whether a git folder says that this project is its worktree, or its submodule."""
    places = [f"{place}/.git" for place in _ask(folder, "config", "core.worktree")]
    with suppress(OSError):  # it has none if it is not that of a worktree
        places.append(os.fsdecode(read_head(folder / "gitdir")).rstrip("\n"))
    return any(place and real_path(f"{folder / place}") == f"{project}/.git" for place in places)


def _ask(own: Path, *arguments: str) -> list[str]:
    """Return the lines that git prints of a repository; none if it fails."""
    git = HostGit(own)
    try:
        command = [*git.command, *arguments]
        done = run_bounded(command, BOUNDS, environment=git.environment)
    except (GitError, BoundedRunError):
        return []
    return [] if done.code else os.fsdecode(done.output).splitlines()
