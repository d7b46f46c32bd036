"""Facts in the one search: what stands on "main" is a source of origin `memory` each, and what it
replaced an older version of that source."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import kb
from base.stores import connect_read_only
from kb import mirrors
from kb.mirrors import Mirrored, Version
from memory.facts import Fact, reading

BATCH = 20
WAIT_S = 0.25
TRIES = 5
"""How often one begins anew where other processes mirror at the same time."""


@dataclass(frozen=True, slots=True)
class FactMirror:
    """A file of facts that is followed by the mirror `name`; its labels begin with `prefix`."""

    name: str
    prefix: str
    path: Path

    def follow(self, store: kb.Store, seen: str, deadline: float) -> int:
        """Index what changed since the mark `seen` until all is, or the clock passes `deadline`;
        return how much is left.

        Raises:
            sqlite3.Error, kb.StoreError: one of the files cannot be read or written.
        """
        for _ in range(TRIES):
            with self._reading() as db:
                if reading.read_mark(db) == seen:
                    return 0
                news = reading.read_news(db, seen, BATCH)
                if news is None:
                    left = self._compare_all(db, store, seen, deadline)
                else:
                    left = self._follow_news(db, store, seen, deadline)
            if left is not None:
                return left
            seen = mirrors.read_marks(store).get(self.name, "")
        return 1

    def read_mark(self) -> str:
        """Return the mark of what is there; empty where there is no file, or none to be read."""
        try:
            with self._reading() as db:
                return reading.read_mark(db)
        except sqlite3.Error:
            return ""

    def is_less(self, mark: str) -> bool:
        """Tell whether something was taken away or replaced since a mark."""
        with self._reading() as db:
            return reading.is_less(db, mark)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with closing(connect_read_only(self.path, wait_s=WAIT_S)) as db:
            db.execute("BEGIN")
            yield db

    def _follow_news(
        self, db: sqlite3.Connection, store: kb.Store, seen: str, deadline: float
    ) -> int | None:
        while (news := reading.read_news(db, seen, BATCH)) and news[1] != seen:
            paths, mark, left = news
            wanted = self._list_wanted(db, paths)
            if mirrors.follow(store, self.name, wanted, seen=seen, mark=mark) is None:
                return None
            seen = mark
            if left and time.monotonic() >= deadline:
                return left
        return 0

    def _compare_all(
        self, db: sqlite3.Connection, store: kb.Store, seen: str, deadline: float
    ) -> int | None:
        """Make all sources what the file has, first of all those that are to go."""
        mark = reading.read_mark(db)
        standing = reading.list_standing(db, now=time.time())
        labels = {self.prefix + path for path in standing}
        there = mirrors.read_digests(store, kb.Origin.MEMORY, f"{self.prefix}/")
        to_go = [Mirrored(label, kb.Origin.MEMORY) for label in there if label not in labels]
        gone = mirrors.follow(store, self.name, to_go, seen=seen)
        # Texts that were erased before they stood no more are in older versions.
        standing.sort(key=lambda path: self.prefix + path not in there)
        for begin in range(0, len(standing), BATCH):
            wanted = self._list_wanted(db, standing[begin : begin + BATCH])
            went = mirrors.follow(store, self.name, wanted, seen=seen)
            if gone is None or went is None:
                return None
            gone += went
            if time.monotonic() >= deadline and begin + BATCH < len(standing):
                break
        if gone:
            mirrors.compact(store)  # what was erased leaves no byte
        left = max(len(standing) - begin - BATCH, 0) if standing else 0
        if not left and mirrors.follow(store, self.name, (), seen=seen, mark=mark) is None:
            return None
        return left

    def _list_wanted(self, db: sqlite3.Connection, paths: Sequence[str]) -> list[Mirrored]:
        found = reading.read_versions(db, paths, now=time.time())
        return [
            Mirrored(
                self.prefix + path,
                kb.Origin.MEMORY,
                tuple(_make_version(self.prefix + path, one) for one in found[path]),
            )
            for path in paths
        ]


def _make_version(label: str, fact: Fact) -> Version:
    """Make the source of a fact: its title where the text does not begin so, and its tags."""
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
        pinned=True,  # no quota takes what is remembered out of the search
        author=fact.agent,
        said_at=fact.at,
    )
    return Version(spec, "\n".join(lines).encode("utf-8", "replace"))
