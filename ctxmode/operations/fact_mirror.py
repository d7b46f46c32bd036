"""Facts in the search index: each current fact of "main" is a source of origin `memory`; replaced
facts are older versions of that source."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import kb
from base.stores import connect_read_only
from kb import mirrors
from kb.mirrors import Mirrored, Version
from memory.facts import Fact, reading

BATCH = 20
WAIT_S = 0.25


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect_read_only(path, wait_s=WAIT_S)) as db:
        db.execute("BEGIN")
        yield db


def follow(
    path: Path, store: kb.Store, seen: str, deadline: float, *, name: str, prefix: str
) -> int:
    """Index changes in a file of facts since the mark `seen`, until all are indexed or the clock
    passes `deadline`; return how many are left. Labels of the mirror `name` begin with `prefix`.

    Raises:
        sqlite3.Error, kb.StoreError: one of the files cannot be read or written.
    """

    def attempt(seen: str) -> int | None:
        with _reading(path) as db:
            if reading.read_mark(db) == seen:
                return 0
            if reading.read_news(db, seen, BATCH) is None:
                return _compare_all(db, store, seen, deadline, name, prefix)
            return _follow_news(db, store, seen, deadline, name, prefix)

    return mirrors.follow_in_turn(store, name, seen, attempt)


def _follow_news(
    db: sqlite3.Connection, store: kb.Store, seen: str, deadline: float, name: str, prefix: str
) -> int | None:
    while (news := reading.read_news(db, seen, BATCH)) and news[1] != seen:
        paths, mark, left = news
        wanted = _list_wanted(db, paths, prefix)
        if mirrors.follow(store, name, wanted, seen=seen, mark=mark) is None:
            return None
        seen = mark
        if left and time.monotonic() >= deadline:
            return left
    return 0


def _compare_all(
    db: sqlite3.Connection, store: kb.Store, seen: str, deadline: float, name: str, prefix: str
) -> int | None:
    """Make all sources match the file; remove sources first."""
    mark = reading.read_mark(db)
    standing = reading.list_standing(db, now=time.time())
    labels = {prefix + path for path in standing}
    there = mirrors.read_digests(store, kb.Origin.MEMORY, f"{prefix}/")
    gone: list[Mirrored] = [(label, kb.Origin.MEMORY, ()) for label in there if label not in labels]
    # Older versions may contain texts that were erased before they were replaced.
    standing.sort(key=lambda path: prefix + path not in there)
    return mirrors.follow_in_batches(
        store,
        name,
        gone,
        standing,
        lambda some: _list_wanted(db, some, prefix),
        size=BATCH,
        seen=seen,
        mark=mark,
        deadline=deadline,
    )


def _list_wanted(db: sqlite3.Connection, paths: Sequence[str], prefix: str) -> list[Mirrored]:
    found = reading.read_versions(db, paths, now=time.time())
    return [
        (
            prefix + path,
            kb.Origin.MEMORY,
            tuple(_make_version(prefix + path, one) for one in found[path]),
        )
        for path in paths
    ]


def _make_version(label: str, fact: Fact) -> Version:
    """Make the source of a fact: its title, unless the text begins with it; its text; its tags."""
    lines = [fact.text]
    if fact.title and not fact.text.lstrip("# ").startswith(fact.title):
        lines = [fact.title, "", fact.text]
    if fact.tags:
        lines += ["", f"tags: {', '.join(fact.tags)}"]
    spec = kb.SourceSpec(
        label,
        kb.Origin.MEMORY,
        kind="text",
        ttl_s=None if fact.expires_at is None else max(fact.expires_at - time.time(), 0.0),
        pinned=True,  # quotas do not remove facts from the search
        author=fact.agent,
        said_at=fact.at,
    )
    return spec, "\n".join(lines).encode("utf-8", "replace")
