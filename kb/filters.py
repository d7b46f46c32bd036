"""What a hit must satisfy besides matching the words: given by the caller, or in the query itself
as `kind:`, `lang:`, `source:`, `path:`, `session:`, `agent:`, `since:` and `in:`."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kb import filetypes
from kb.writing import storable_values

_INLINE = re.compile(r"(?<!\S)(kind|lang|language|source|path|session|agent|since|in):(\S+)")
_AGE = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS = {"today": 0, "yesterday": 1}
MOMENTS = "today, yesterday, an age such as 90s, 30m, 12h, 7d or 2w, or a date such as 2026-01-31"
"""What `since:` takes, in words."""

PLACES = {
    "runs": ("run",),
    "files": ("file", "note"),
    "web": ("fetch",),
    "memory": ("memory",),
    "pages": ("page",),
    "sessions": ("session",),
}
"""What `in:` takes, and the origins that each means."""


@dataclass(frozen=True, slots=True)
class Filters:
    """`source` is an id, several, or a part of a label, `path` a part of a file's path, `since` a
    time in seconds since the epoch. `session` is a session's name or a part of it, of which
    `agent` is the beginning, before a colon; an agent is also the author of facts. `places` are of
    `PLACES`; none means all."""

    source: str | int | tuple[int, ...] | None = None
    kind: str | None = None
    language: str | None = None
    session: str | None = None
    since: float | None = None
    include_superseded: bool = False
    path: str | None = None
    agent: str | None = None
    places: tuple[str, ...] = ()

    @property
    def narrows(self) -> bool:
        """Whether some of what is kept may not fit."""
        return self != Filters(include_superseded=self.include_superseded)


def inline(text: str, given: Filters) -> tuple[str, Filters]:
    """`text` without the filters in it, and those joined to `given`, which go before.

    What has the look of a filter but no sense (`since:forever`) stays in the text as words.
    """
    found = given
    rest = []
    position = 0
    for match in _INLINE.finditer(text):
        joined = _join(found, match.group(1), match.group(2))
        if joined is not None:
            found = joined
            rest.append(text[position : match.start()])
            position = match.end()
    return "".join([*rest, text[position:]]), found


def _join(filters: Filters, name: str, value: str) -> Filters | None:  # noqa: PLR0911 - one each
    if name == "since":
        since = moment(value)
        return None if since is None else replace(filters, since=filters.since or since)
    if name == "in":
        places = read_places(value)
        return None if places is None else replace(filters, places=filters.places or places)
    if name in ("lang", "language"):
        language = filetypes.canonical_language(value)
        return replace(filters, language=filters.language or language)
    if name == "source":
        return replace(filters, source=filters.source if filters.source is not None else value)
    if name == "path":
        return replace(filters, path=filters.path or value)
    if name == "session":
        return replace(filters, session=filters.session or value)
    if name == "agent":
        return replace(filters, agent=filters.agent or value)
    return replace(filters, kind=filters.kind or value.lower())


def read_places(text: str) -> tuple[str, ...] | None:
    """The places meant by names with commas between; None where one of them is none."""
    names = tuple(text.lower().split(","))
    return names if all(name in PLACES for name in names) else None


def moment(text: str) -> float | None:
    """The time meant by an age (`90s`, `30m`, `12h`, `7d`, `2w`), a day (`today`, `yesterday`) or
    an ISO date. In seconds since the epoch; None where none is meant. Days begin at midnight, local
    time."""
    age = _AGE.fullmatch(text)
    if age:
        return time.time() - int(age.group(1)) * _SECONDS[age.group(2)]
    try:
        if text.lower() in _DAYS:
            day = datetime.now().date() - timedelta(days=_DAYS[text.lower()])
            return datetime(day.year, day.month, day.day).timestamp()
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def without_sense(text: str) -> list[str]:
    """What in a query has the look of a filter but no meaning, such as `since:forever`."""
    return [
        match.group()
        for match in _INLINE.finditer(text)
        if _join(Filters(), match.group(1), match.group(2)) is None
    ]


def explain_sense(unclear: str) -> tuple[str, str]:
    """What is wrong with a filter `without_sense`, and what to give instead."""
    if unclear.startswith("in:"):
        return f"{unclear} names what is nowhere", f"Give one or more of {', '.join(PLACES)}"
    return f"{unclear} means no time", f"Give {MOMENTS}"


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
    elif isinstance(filters.source, tuple):
        clauses.append("s.id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(filters.source))
    elif filters.source:
        clauses.append("instr(lower(s.label), lower(?)) > 0")
        values.append(filters.source)
    if not filters.include_superseded:
        clauses.append("s.superseded_by IS NULL")
    if filters.kind is not None:  # a page is of kind html, its chunks are Markdown; or an origin
        clauses.append("? IN (c.kind, s.kind, s.origin)")
        values.append(filters.kind)
    if filters.language is not None:
        clauses.append("c.language = ?")
        values.append(filters.language)
    if filters.session is not None:
        clauses.append("instr(s.session, ?) > 0")
        values.append(filters.session)
    if filters.agent is not None:
        clauses.append("(instr(s.session, ?) = 1 OR s.author = ?)")
        values += [f"{filters.agent}:", filters.agent]
    if filters.path:
        clauses.append("instr(s.path, ?) > 0")
        values.append(filters.path)
    if filters.since is not None:
        clauses.append("coalesce(s.said_at, s.indexed_at) >= ?")
        values.append(filters.since)
    if filters.places:
        origins = [origin for place in filters.places for origin in PLACES.get(place, ())]
        clauses.append(f"s.origin IN ({', '.join('?' * len(origins))})")
        values += origins
    return Condition(" AND ".join(clauses), storable_values(values))
