"""Reading the JSON that `exporting` writes. No field of it is trusted to be there, or to have its
type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memory.errors import BadInputError
from memory.facts.incoming import Incoming, Reading
from memory.facts.model import CONFIDENCES, Draft
from memory.facts.origins import LATEST_AT, Origin
from memory.facts.paths import is_id

_FIELDS = frozenset([
    *("id", "path", "title", "text", "tags", "scope", "category", "why", "confidence", "source"),
    *("expires_at", "pinned", "author"),
])  # fmt: skip
_AUTHORS_FIELDS = frozenset(["agent", "session", "at"])


def read_own(facts: object) -> Reading:
    """Read the list of facts of an export.

    Raises:
        BadInputError: it is no list.
    """
    if not isinstance(facts, list):
        raise BadInputError("facts is no list", "Give what `context-mode memory export` writes.")
    reading = Reading()
    for number, row in enumerate(facts, 1):
        if not isinstance(row, dict):
            reading.leave(f"fact {number}", "it is no object")
            continue
        path = row.get("path")
        where = path if isinstance(path, str) and path else f"fact {number}"
        try:
            reading.found.append(_read_fact(row))
        except BadInputError as error:
            reading.leave(repr(where)[1:-1], error.message)
            continue
        for name in sorted(row.keys() - _FIELDS):
            reading.count(f"the field {name[:80]!r}, which is not known")
    return reading


def _read_fact(row: Mapping[str, Any]) -> Incoming:
    path, uid, pinned = row.get("path"), row.get("id"), row.get("pinned", False)
    if not isinstance(path, str) or not path:
        raise BadInputError("it has no path")
    if not isinstance(pinned, bool):
        raise BadInputError("pinned is neither true nor false")
    draft = Draft(
        text=row.get("text", ""),
        title=row.get("title", ""),
        path=path,
        tags=row.get("tags", ()),
        confidence=row.get("confidence", CONFIDENCES["medium"]),
        category=row.get("category", "import"),
        why=row.get("why", ""),
        source=row.get("source", ""),
        scope=row.get("scope", "project"),
        is_pinned=pinned,
    )
    return Incoming(
        draft,
        _read_author(row.get("author", {})),
        _read_number("expires_at", row.get("expires_at")),
        uid if isinstance(uid, str) and is_id(uid) else "",
    )


def _read_author(author: object) -> Origin:
    if not isinstance(author, dict):
        raise BadInputError("author is no object")
    unknown = author.keys() - _AUTHORS_FIELDS
    if unknown:
        raise BadInputError(f"author has the field {min(unknown)[:80]!r}, which is not known")
    agent, session = author.get("agent", ""), author.get("session", "")
    if not isinstance(agent, str) or not isinstance(session, str):
        raise BadInputError("the author's agent or session is no text")
    at = _read_number("at", author.get("at"))
    if at is not None and not 0 <= at <= LATEST_AT:
        raise BadInputError("the author's time is none of the years 1970 to 9999")
    return Origin("", agent, session, None if at is None else round(at, 3))


def _read_number(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise BadInputError(f"{name} is no number")
