"""The history of pages: commits, versions for search, and rewritten commits.

Erasing rewrites the history, while drafts still name the old commits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from base.plain_files import replace_file
from memory.pages.model import Commit, slug_of
from memory.pages.repository import Repository

FILE = "context-mode-rewritten"
_LINE = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}|-)")
_BYTES_MAX = 64 << 20

VERSIONS_MAX = 20
"""Newest versions of a page that search covers."""

HISTORY_MAX = 50

LogEntry = tuple[Commit, tuple[str, ...]]
"""A commit, and the paths that it changed."""


def read_rewritten(repository: Repository) -> dict[str, str]:
    """Return the new names of rewritten commits; empty for one that was dropped."""
    found: dict[str, str] = {}
    with suppress(OSError), open(repository.folder / FILE, "rb") as file:
        for line in file.read(_BYTES_MAX).decode("ascii", "replace").splitlines():
            match = _LINE.fullmatch(line)
            if match:
                found[match[1]] = "" if match[2] == "-" else match[2]
    return found


def add_rewritten(repository: Repository, changes: Mapping[str, str]) -> None:
    """Store the new names of rewritten commits, also of those rewritten before.

    Raises:
        OSError: it cannot be written.
    """
    old = read_rewritten(repository)
    joined = {before: changes.get(after, after) for before, after in old.items()}
    joined.update({before: after for before, after in changes.items() if before != after})
    lines = [f"{before} {after or '-'}\n" for before, after in sorted(joined.items())]
    replace_file(repository.folder / FILE, "".join(lines).encode())


def follow_rewritten(parent: str, rewritten: Mapping[str, str]) -> str:
    """Return the present name of a commit; a draft of a dropped commit has no parent."""
    if parent in rewritten:
        return rewritten[parent]
    if rewritten and len(parent) < 40:
        full = [after for before, after in rewritten.items() if before.startswith(parent)]
        return full[0] if len(full) == 1 else parent
    return parent


def name_page(path: str) -> str:
    """Return the name of a page: its type and slug; empty if the path is not a page's."""
    named = slug_of(path)
    return f"{named[0]}/{named[1]}" if named else ""


def list_changed(repository: Repository, since: str, head: str) -> list[str] | None:
    """List the paths that changed between two commits. None if the history was rewritten: then
    everything must be compared."""
    if not since:
        return None
    code, _, _ = repository.git.try_run("merge-base", "--is-ancestor", since, head)
    if code:
        return None
    said = repository.git.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", since, head, "--"
    )
    return [path for path in said.decode("utf-8", "replace").split("\0") if name_page(path)]


def read_newest(repository: Repository, head: str) -> Mapping[str, str]:
    """Read the newest version of all pages, by path."""
    if not head:
        return {}
    tree = repository.list_entries(head)
    blobs = {path: blob for path, blob in tree.items() if name_page(path)}
    texts = repository.read_objects([*blobs.values()])
    return {path: text for path, text in zip(blobs, texts, strict=True) if text is not None}


def read_versions(
    repository: Repository, paths: Sequence[str], head: str
) -> Mapping[str, list[tuple[Commit, str]]]:
    """Read the versions of pages up to a commit, the oldest first, since the page was last absent.
    A page that is absent now has none."""
    histories = {path: repository.history(path, VERSIONS_MAX, at=head) for path in paths}
    wanted = [(path, one.sha) for path, commits in histories.items() for one in commits]
    texts = dict(zip(wanted, repository.read_each(wanted), strict=True))
    found: dict[str, list[tuple[Commit, str]]] = {}
    for path, commits in histories.items():
        versions: list[tuple[Commit, str]] = []
        for commit in commits:  # the newest first
            text = texts[path, commit.sha]
            if text is None:
                break
            versions.append((commit, text))
        found[path] = versions[::-1]
    return found


def list_log(repository: Repository, limit: int = HISTORY_MAX) -> list[LogEntry]:
    """Return the commits of all pages, newest first."""
    commits = repository.history("", limit)
    paths = repository.changed_paths([one.sha for one in commits])
    return [(one, paths.get(one.sha, ())) for one in commits]
