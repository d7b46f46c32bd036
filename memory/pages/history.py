"""What became of the pages: a page's commits, and those of all pages with what they changed."""

from __future__ import annotations

from dataclasses import dataclass

from memory.pages.model import Commit
from memory.pages.repository import Repository

HISTORY_MAX = 50


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit, and the paths that it changed."""

    commit: Commit
    paths: tuple[str, ...]


def list_history(repository: Repository, path: str, limit: int = HISTORY_MAX) -> list[Commit]:
    """Return a page's commits, newest first."""
    return repository.history(path, limit)


def list_log(repository: Repository, limit: int = HISTORY_MAX) -> list[LogEntry]:
    """Return the commits of all pages, newest first."""
    commits = repository.history("", limit)
    paths = repository.changed_paths([one.sha for one in commits])
    return [LogEntry(one, paths.get(one.sha, ())) for one in commits]
