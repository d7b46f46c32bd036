"""Paths of facts, as CTXone has them: `/memory/pinned/SOURCE/SLUG`, `/memory/primed/SOURCE/SLUG`,
`/memory/CONTEXT/KEY`, `/sessions/ID/{summary,decisions,details}`."""

from __future__ import annotations

import re
import unicodedata

from memory.errors import BadInputError
from memory.facts.model import DEFAULT_CONTEXT, PATH_BYTES_MAX

PINNED = "/memory/pinned"
PRIMED = "/memory/primed"
_ID = re.compile(r"mem-[a-z2-7]{8}")
ROOTS = ("/memory/", "/sessions/")
_SPACE = re.compile(r"\s")
_DROPPED = re.compile(r"[^\w\- ]+")


def check_path(path: str) -> str:
    """Return a path in Unicode's composed form.

    Raises:
        BadInputError: it does not begin with /memory/ or /sessions/, is too long, has an empty,
            `.` or `..` part, or a control character.
    """
    plain = unicodedata.normalize("NFC", path)
    parts = plain.split("/")[1:]
    problem = ""
    if not plain.startswith(ROOTS):
        problem = "it begins with neither /memory/ nor /sessions/"
    elif len(plain.encode("utf-8", "surrogatepass")) > PATH_BYTES_MAX:
        problem = f"it has more than {PATH_BYTES_MAX} bytes"
    elif any(part.strip() in ("", ".", "..") for part in parts):
        problem = "a part of it is empty, . or .."
    elif any(unicodedata.category(mark)[0] == "C" for mark in plain):
        problem = "it holds a control character"
    if problem:
        raise BadInputError(
            f"{path[:80]!r} is no path of a fact: {problem}",
            "Give a path such as /memory/general/deploy.",
        )
    return plain


def make_path(context: str, key: str) -> str:
    """Return the path of a key in a context.

    Raises:
        BadInputError: they make no path.
    """
    return check_path(f"/memory/{context.strip().strip('/')}/{key.strip().strip('/')}")


def is_id(text: str) -> bool:
    """Tell whether a text has the form of a fact's id."""
    return _ID.fullmatch(text) is not None


def name_fact(wanted: object, context: str = DEFAULT_CONTEXT) -> str:
    """Return the id or the path that is meant by an id, a path, or a key in a context.

    Raises:
        BadInputError: it is none of these.
    """
    if not isinstance(wanted, str) or not wanted.strip():
        raise BadInputError("no fact is named", "Give an id, a path or a key.")
    name = wanted.strip()
    if is_id(name):
        return name
    return check_path(name) if name.startswith("/") else make_path(context, name)


def make_slug(title: str) -> str:
    """Return a heading's slug as GitHub makes it: lower case, each blank a dash, no punctuation."""
    plain = unicodedata.normalize("NFC", title).strip().lower()
    slug = _SPACE.sub("-", _DROPPED.sub("", plain))[:80]
    return slug if slug.strip("-") else "section"
