"""Which files of a project a run may not read, or not write: found by name, before it starts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from executor.profile import ProjectAccess
from executor.project_search import ProjectSearch

# Files of the project that a host tool would obey later: a program that could write them would
# act outside the sandbox the next time a person uses git, a shell, an editor or an agent.
PROTECTED_IN_GIT = ("hooks", "config", "config.worktree", "modules", "info/attributes")
PROTECTED_PATHS = (
    *(f".git/{path}" for path in PROTECTED_IN_GIT),
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".gitconfig",
    ".ripgreprc",
    ".envrc",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".windsurf",
    ".junie",
    ".kiro",
    ".qwen",
    ".clinerules",
    ".roo",
    ".crush.json",
    "crush.json",
    ".github/hooks",
    ".ctxmode",
    ".zed",
    ".vscode",
    ".idea",
    ".husky",
)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Paths relative to the project, by what happens to them in a cell.

    `secrets`, files by their names and what rules deny to read, are covered; `protected` are bound
    read-only, and `pinned`, the folders on the way to them, can't be renamed; `watched` don't exist
    (or are links, which no mount can cover) and are put back as they were after the run.
    """

    secrets: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()


def guarded(search: ProjectSearch, access: ProjectAccess) -> Guarded:
    """What to guard in this project; writing is guarded only where it reaches the disk."""
    project = search.project
    secrets = tuple(os.path.relpath(path, project) for path in search.secrets())
    if access is not ProjectAccess.LIVE:
        return Guarded(secrets)
    paths = protected_paths(search)
    covered = [path for path in paths if _can_be_covered(project / path)]
    folders = {folder for path in paths if (folder := os.path.dirname(path))}
    return Guarded(
        secrets=secrets,
        pinned=tuple(sorted(f for f in folders if _can_be_covered(project / f))),
        protected=tuple(path for path in covered if path not in secrets),
        watched=tuple(path for path in paths if path not in covered),
    )


def identities(search: ProjectSearch, access: ProjectAccess) -> tuple[tuple[str, int, int], ...]:
    """What tells the guarded files that exist from others that take their names."""
    found = guarded(search, access)
    told = []
    for name in (*found.secrets, *found.protected):
        with contextlib.suppress(OSError):
            info = os.lstat(search.project / name)
            told.append((name, info.st_dev, info.st_ino))
    return tuple(told)


def protected_paths(search: ProjectSearch) -> tuple[str, ...]:
    """The protected paths of this project and of the repositories inside it, existing or not."""
    paths = [path for path in PROTECTED_PATHS if not path.startswith(".git/")]
    for git in (".git", *search.repositories()):
        if (search.project / git).is_dir():
            paths += [f"{git}/{path}" for path in PROTECTED_IN_GIT]
        else:
            # Missing; or a file, as in a worktree or submodule, that says where the repository is.
            paths.append(git)
    return tuple(paths)


def is_git_made_dangerous(path: str, existed: Container[str], exists: Container[str]) -> bool:
    """Whether a path, changed or made, would have git run something: see `protected_paths`.

    `existed` and `exists` are the project's paths before and after.
    """
    parts = path.split("/")
    if ".git" in parts:
        at = parts.index(".git") + 1
        inside = "/".join(parts[at:])
        new = "/".join(parts[:at]) not in existed
        protected = any(inside == p or inside.startswith(f"{p}/") for p in PROTECTED_IN_GIT)
        return new or protected or not inside
    beside = path[: -len("HEAD")]
    return (
        parts[-1] == "HEAD"
        and path not in existed
        and f"{beside}config" in exists
        and f"{beside}objects" in exists
    )


def _can_be_covered(path: Path) -> bool:
    return path.exists() and not path.is_symlink()


def linked_repository(project: Path) -> tuple[str, ...]:
    """The folders outside the project that a worktree's or submodule's `.git` file leads to.

    See gitrepository-layout(5): the file names the git folder, which may name a common one.
    """
    try:
        word, _, place = (project / ".git").read_text().strip().partition(": ")
    except (OSError, UnicodeDecodeError):
        return ()
    folder = (project / place).resolve()
    if word != "gitdir" or not (folder / "HEAD").is_file():
        return ()
    try:
        common = (folder / (folder / "commondir").read_text().strip()).resolve()
    except OSError:
        common = folder
    # The common folder usually holds the other; only a real repository is shown.
    found = [str(common)] if (common / "objects").is_dir() else []
    if not folder.is_relative_to(common):
        found.append(str(folder))
    return tuple(path for path in found if not Path(path).is_relative_to(project))


def readable(search: ProjectSearch) -> tuple[tuple[str, str], ...]:
    """Landlock grants that cover the project but for its secrets (tier B can cover nothing).

    A folder without secrets anywhere below is granted whole ("r"); any other is only listed
    ("list") and its entries are granted one by one.
    """
    project, secrets = search.project, set(search.secrets())
    tainted = {str(parent) for path in secrets for parent in Path(path).parents}
    if str(project) not in tainted:
        return ((str(project), "r"),)
    grants: list[tuple[str, str]] = []
    for folder in sorted(path for path in tainted if Path(path).is_relative_to(project)):
        grants.append((folder, "list"))
        with os.scandir(folder) as entries:
            # Never a link: granting one would grant what it leads to.
            open_entries = (e for e in entries if not e.is_symlink())
            grants += [(e.path, "r") for e in open_entries if e.path not in secrets | tainted]
    return tuple(grants)
