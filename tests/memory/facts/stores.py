"""A store of facts in a folder of a test, with a clock that the test sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.secrets import find_secrets
from memory.facts.model import MAIN, Author, Change, Draft, Fact
from memory.facts.reading import find_at, read_changes, read_facts
from memory.facts.store import FactStore

ADA = Author("claude_code", "s1")
PERSON = Author("user", "")
START = 1_780_000_000.0


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    now: float = START

    def __call__(self) -> float:
        return self.now


def open_facts(folder: Path, clock: Clock | None = None, **options: Any) -> FactStore:
    """Open the file of facts in a folder."""
    path = folder / "memory.sqlite3"
    return FactStore(path, find_secrets=find_secrets, clock=clock or Clock(), **options)


def draft(text: str, **fields: Any) -> Draft:
    return Draft(text, **fields)


def standing(store: FactStore, branch: str = MAIN, prefix: str = "") -> list[Fact]:
    """What stands on a branch now."""
    with store.database.reading() as db:
        return list(read_facts(db, branch, now=store.clock(), prefix=prefix))


def at(store: FactStore, path: str, branch: str = MAIN) -> Fact | None:
    with store.database.reading() as db:
        return find_at(db, branch, path)


def ledger(store: FactStore, **asked: Any) -> list[Change]:
    """The ledger, the oldest first."""
    with store.database.reading() as db:
        return read_changes(db, **asked)[::-1]
