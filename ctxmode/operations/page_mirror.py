"""Pages in the search index: the newest version of each is a source of origin `page`; earlier ones
are older versions of that source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import kb
from kb import mirrors
from kb.mirrors import Mirrored, Version
from memory.pages import Commit, Repository, history

NAME = "pages"
PREFIX = "page:"
BATCH = 5
SECONDS_MAX = 5.0  # a search never waits long for git


def follow(path: Path, store: kb.Store, seen: str, deadline: float) -> int:
    """Index the page versions after the commit `seen`, until all are indexed or the clock passes
    `deadline`; return how many pages are left.

    Raises:
        MemoryRoomError, kb.StoreError: the repository or the index cannot be read or written.
    """
    repository = Repository(path, environ=os.environ, seconds_max=SECONDS_MAX)
    return mirrors.follow_in_turn(
        store, NAME, seen, lambda seen: _follow(repository, store, seen, deadline)
    )


def _follow(repository: Repository, store: kb.Store, seen: str, deadline: float) -> int | None:
    head = repository.head()
    if head == seen:
        return 0
    changed = history.list_changed(repository, seen, head)
    paths, gone = _compare(repository, store, head)
    if changed is not None:
        paths = [path for path in paths if path in changed]
    return mirrors.follow_in_batches(
        store,
        NAME,
        gone,
        paths,
        lambda some: _list_wanted(repository, some, head),
        size=BATCH,
        seen=seen,
        mark=head,
        deadline=deadline,
        is_compacted=changed is None,  # the history was rewritten
    )


def _compare(
    repository: Repository, store: kb.Store, head: str
) -> tuple[list[str], list[Mirrored]]:
    """Find the pages whose newest version is not indexed, and the sources to remove."""
    newest = history.read_newest(repository, head)
    there = mirrors.read_digests(store, kb.Origin.PAGE, PREFIX)
    paths = [
        path
        for path, text in newest.items()
        if there.get(_label(path)) != mirrors.text_digest(text.encode())
    ]
    labels = set(map(_label, newest))
    return paths, [(label, kb.Origin.PAGE, ()) for label in there if label not in labels]


def _list_wanted(repository: Repository, paths: Sequence[str], head: str) -> list[Mirrored]:
    return [
        (_label(path), kb.Origin.PAGE, tuple(_make_versions(path, found)))
        for path, found in history.read_versions(repository, paths, head).items()
    ]


def _make_versions(path: str, found: Iterable[tuple[Commit, str]]) -> Iterator[Version]:
    for commit, text in found:
        spec = kb.SourceSpec(
            _label(path),
            kb.Origin.PAGE,
            kind="markdown",
            pinned=True,  # quotas do not remove pages from the search
            author=commit.agent or commit.author.partition(" <")[0],
            said_at=commit.at,
        )
        yield spec, text.encode()


def _label(path: str) -> str:
    return PREFIX + history.name_page(path)
