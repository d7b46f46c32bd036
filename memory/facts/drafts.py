"""Preparation of drafts before they are stored: size limits, cleaning, paths.

Drafts come from users, agents and files, so no field is trusted to have its type.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from memory.errors import BadInputError
from memory.facts.model import (
    BODY_BYTES_MAX,
    CATEGORIES,
    CONFIDENCES,
    DEFAULT_CONTEXT,
    SCOPES,
    SESSION_DAYS,
    TITLE_BYTES_MAX,
    Author,
    Category,
    Draft,
    Scope,
    check_path,
    make_path,
)
from memory.gate import Gate, count_redactions
from memory.texts import size_bytes

WHY_BYTES_MAX = 2048
SOURCE_BYTES_MAX = 512
AGENT_BYTES_MAX = 200
TAGS_MAX = 32
TAG_BYTES_MAX = 100
TTL_DAYS_MAX = 36_500

_DAY_S = 86_400.0
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": _DAY_S, "w": 7 * _DAY_S}
_TTL = re.compile(r"(\d{1,9})\s*([smhdw])")
_SESSIONS = "/sessions/"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked and cleaned draft."""

    path: str  # ends in "/" if the fact's id is its last part
    context: str
    title: str
    body: str
    tags: tuple[str, ...]
    confidence: float
    category: Category
    why: str
    source: str
    scope: Scope
    expires_at: float | None
    is_expiry_given: bool  # whether a time was requested, so None is not the default
    is_pinned: bool
    supersedes: str
    redactions: int


def prepare(gate: Gate, draft: Draft, author: Author, now: float) -> Prepared:
    """Check and clean a draft.

    Raises:
        BadInputError: a field is invalid.
    """
    body = _require_text("text", draft.text)
    if size_bytes(body) > BODY_BYTES_MAX:
        raise BadInputError(
            f"the text has {size_bytes(body)} bytes; the limit is {BODY_BYTES_MAX}",
            "Split it into several facts.",
        )
    name = _require_text("key", draft.key).rpartition("/")[2]
    cleaned = gate.clean_value(body, BODY_BYTES_MAX, name=name).strip()
    if not cleaned:
        raise BadInputError("the text is empty", "Give the text to remember.")
    title = _clean_line(gate, "title", draft.title, TITLE_BYTES_MAX)
    scope = _require_one_of("scope", draft.scope, SCOPES)
    path = _find_path(gate, draft, author, scope)
    if path.startswith(_SESSIONS):
        if scope == "user":
            raise BadInputError(
                f"{path} belongs to a session, but the scope is user", "Give a path below /memory/."
            )
        scope = "session"
    tags = _clean_tags(gate, draft.tags)
    why = _clean_line(gate, "why", draft.why, WHY_BYTES_MAX)
    source = _clean_line(gate, "source", draft.source, SOURCE_BYTES_MAX)
    before = "\n".join((body, draft.title, draft.why, draft.source, *tags))
    after = "\n".join((cleaned, title, why, source, *tags))
    return Prepared(
        path=path,
        context=draft.context,
        title=title,
        body=_require_fitting("text", cleaned, BODY_BYTES_MAX),
        tags=tags,
        confidence=parse_confidence(draft.confidence),
        category=_require_one_of("category", draft.category, CATEGORIES),
        why=why,
        source=source,
        scope=scope,
        expires_at=_find_expiry(draft.ttl_s, scope, now),
        is_expiry_given=draft.ttl_s is not None,
        is_pinned=bool(draft.is_pinned),
        supersedes=_require_text("supersedes", draft.supersedes).strip(),
        redactions=count_redactions(before, after),
    )


def clean_author(gate: Gate, author: Author) -> Author:
    """Return an author, cleaned for storing.

    Raises:
        BadInputError: a name is too long, or not a text.
    """
    return Author(
        _clean_line(gate, "agent", author.agent, AGENT_BYTES_MAX) or "user",
        _clean_line(gate, "session", author.session, AGENT_BYTES_MAX),
    )


def clean_why(gate: Gate, why: str) -> str:
    """Return a reason, cleaned for storing.

    Raises:
        BadInputError: it is too long, or not a text.
    """
    return _clean_line(gate, "why", why, WHY_BYTES_MAX)


def parse_confidence(value: float | str) -> float:
    """Return how sure a fact is: high, medium, low, or a number from 0 to 1.

    Raises:
        BadInputError: it is neither.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in CONFIDENCES:
            return CONFIDENCES[word]
        try:
            value = float(word) if len(word) <= 32 else math.nan
        except ValueError:
            value = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise BadInputError(
        f"invalid confidence {str(value)[:40]!r}",
        f"Use {', '.join(CONFIDENCES)} or a number from 0 to 1.",
    )


def parse_ttl(value: str) -> float | None:
    """Return a time to live in seconds, such as 30d, 12h, 2w; "never" is None.

    Raises:
        BadInputError: it has another form.
    """
    word = _require_text("ttl", value).strip().lower()
    if word in ("", "never"):
        return None
    found = _TTL.fullmatch(word)
    return _check_ttl(int(found[1]) * _UNITS_S[found[2]] if found else math.nan, word)


def _check_ttl(seconds: Any, shown: str) -> float:  # noqa: ANN401 - not trusted to be a number
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 < seconds <= TTL_DAYS_MAX * _DAY_S:
        return float(seconds)
    raise BadInputError(
        f"invalid time to live {shown[:40]!r}",
        f"Use one such as 12h, 30d or 2w, up to {TTL_DAYS_MAX}d.",
    )


def _find_expiry(ttl_s: float | None, scope: Scope, now: float) -> float | None:
    if ttl_s is not None:
        return now + _check_ttl(ttl_s, str(ttl_s))
    return now + SESSION_DAYS * _DAY_S if scope == "session" else None


def _find_path(gate: Gate, draft: Draft, author: Author, scope: Scope) -> str:
    """Return the path of a draft, or the folder in which its id becomes its name. A session's own
    facts are below its path: at a project's path they would replace the project's."""
    given = _require_text("path", draft.path)
    context = _require_text("context", draft.context).strip().strip("/") or DEFAULT_CONTEXT
    key = draft.key.strip().strip("/")
    if given:
        path = check_path(given)
    elif scope == "session" and author.session:
        own = "" if context == DEFAULT_CONTEXT else f"{context}/"
        session = author.session.replace("/", "-")
        path = check_path(f"{_SESSIONS}{session}/{own}{key or 'mem-aaaaaaaa'}")
    else:
        path = make_path(context, key or "mem-aaaaaaaa")
    path = check_path(gate.clean_path(path, len(path) * 4))
    return path if given or key else path.rpartition("/")[0] + "/"


def _clean_tags(gate: Gate, tags: object) -> tuple[str, ...]:
    if not isinstance(tags, tuple | list):
        raise BadInputError("tags is not a list", "Give a list of words.")
    if len(tags) > TAGS_MAX:
        raise BadInputError(f"{len(tags)} tags are too many", f"Give up to {TAGS_MAX}.")
    cleaned = (_clean_line(gate, "tag", tag, TAG_BYTES_MAX) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))


def _clean_line(gate: Gate, name: str, text: object, bytes_max: int) -> str:
    """Return a one-line text, cleaned for storing."""
    given = _require_fitting(name, _require_text(name, text), bytes_max)
    return _require_fitting(name, " ".join(gate.clean(given).split()), bytes_max)


def _require_fitting(name: str, text: str, bytes_max: int) -> str:
    if size_bytes(text) > bytes_max:
        raise BadInputError(
            f"the {name} has {size_bytes(text)} bytes; the limit is {bytes_max}",
            f"Shorten the {name}.",
        )
    return text


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadInputError(f"{name} is {type(value).__name__}, not a text", f"Give {name} a text.")
    return value


def _require_one_of(name: str, value: Any, known: tuple[Any, ...]) -> Any:  # noqa: ANN401
    if value not in known:
        raise BadInputError(
            f"invalid {name} {str(value)[:40]!r}", f"Give one of {', '.join(known)}."
        )
    return value
