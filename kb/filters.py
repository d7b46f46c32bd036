"""What a hit must satisfy besides matching the words, as SQL over `chunk` c and `source` s."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filters:
    """`source` is an id or a part of a label, `since` a time in seconds since the epoch."""

    source: str | int | None = None
    kind: str | None = None
    language: str | None = None
    session: str | None = None
    since: float | None = None
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A WHERE clause and the values of its placeholders."""

    sql: str
    values: tuple[object, ...]


def condition(filters: Filters) -> Condition:
    """What has expired is never found; every filter given must hold."""
    clauses = ["(s.expires_at IS NULL OR s.expires_at > ?)"]
    values: list[object] = [time.time()]
    if isinstance(filters.source, int):
        clauses.append("s.id = ?")
        values.append(filters.source)
    elif filters.source:
        clauses.append("instr(lower(s.label), lower(?)) > 0")
        values.append(filters.source)
    if not filters.include_superseded:
        clauses.append("s.superseded_by IS NULL")
    for column, value in (
        ("c.kind", filters.kind),
        ("c.language", filters.language),
        ("s.session", filters.session),
    ):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    if filters.since is not None:
        clauses.append("s.indexed_at >= ?")
        values.append(filters.since)
    return Condition(" AND ".join(clauses), tuple(values))
