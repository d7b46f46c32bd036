"""Which files of a project a run may not read, or not write: found by name, before it starts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from executor import repositories
from executor.profile import ProjectAccess
from executor.project_search import ProjectSearch

# Files of the project that a host tool would obey later: a program that could write them would
# act outside the sandbox the next time a person uses git, a shell, an editor or an agent.
PROTECTED_PATHS = (
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
    ".amazonq",
    ".continue",
    ".factory",
    ".kilocode",
    ".aider.conf.yml",
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Paths relative to the project, by what happens to them in a cell.

    `secrets`, files by their names and what rules deny to read, are covered; `protected` are bound
    read-only, and `pinned`, the folders on the way to both, can't be renamed to where nobody looks
    for them; `watched` don't exist (or are links, which no mount can cover) and are put back as
    they were after the run.
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
    covered = {path for path in paths if _can_be_covered(project / path)}
    real = {os.path.relpath(os.path.realpath(project / path), project) for path in covered}
    protected = {path for path in real if not path.startswith("..")} - set(secrets)
    folders = {str(f) for path in (*paths, *secrets) for f in PurePath(path).parents} - {"."}
    folders |= {str(f) for path in protected for f in PurePath(path).parents} - {"."}
    return Guarded(
        secrets=secrets,
        pinned=tuple(sorted(f for f in folders if _is_plain(project / f))),
        protected=tuple(sorted(protected)),
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
    """The protected paths of this project and of the repositories inside it, existing or not.

    Where one is a link, what it leads to in the project is protected, too.
    """
    project = search.project
    paths = [*PROTECTED_PATHS]
    for git in (".git", *search.repositories()):
        paths += repositories.obeyed(project, git)
    return tuple(dict.fromkeys((*paths, *_linked_to(project, paths))))


def _linked_to(project: Path, paths: list[str]) -> Iterator[str]:
    for path in paths:
        if (project / path).is_symlink():
            real = os.path.realpath(project / path)
            if real.startswith(f"{project}/"):
                yield os.path.relpath(real, project)


def _is_plain(path: Path) -> bool:
    """Whether it is there, and no link on the way to it."""
    return path.exists() and os.path.realpath(path) == str(path)


def _can_be_covered(path: Path) -> bool:
    return path.exists() and not path.is_symlink()


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
