"""Reading what CTXone exports: values by their paths, `{"ref": …, "paths": {"/memory/x/1": …}}`.

A value is a text; a section `{title, body}`; a list of texts; or it stands leaf by leaf, such as
`/memory/pinned/readme/setup/title` and `…/body`, and `/sessions/s1/decisions/0`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memory.errors import BadInputError
from memory.facts.incoming import Incoming, Reading
from memory.facts.model import CONFIDENCES, Draft, Scope
from memory.facts.origins import Origin

AGENT = "ctxone"
_ROOTS = ("memory", "sessions")
_OF_SESSIONS = ("summary", "decisions", "details")
_SECTIONS = ("pinned", "primed")
_TEXTS = ("body", "value", "fact", "text", "content")
_DEPTH_MAX = 32
# Its ids are nanoseconds since the epoch, as hexadecimal digits.
_TIME_ID = re.compile("1[0-9a-f]{15}")


def read_ctxone(document: object, scope: Scope) -> Reading:
    """Read an export, or the paths of one.

    Raises:
        BadInputError: it is none.
    """
    paths = document.get("paths", document) if isinstance(document, dict) else None
    if not isinstance(paths, dict):
        raise BadInputError("paths is no object", "Give what `ctx db export` writes.")
    reading, tree = Reading(), dict[str, Any]()
    for path in sorted(paths):
        parts = path.split("/")[1:]
        if kind := _find_foreign(path, parts):
            reading.count(kind)
        elif problem := _plant(tree, parts, paths[path]):
            reading.leave(repr(path)[1:-1], problem)
    for parts, value in _list_values(tree, (), reading):
        _read_value(reading, parts, value, scope)
    return reading


def _find_foreign(path: str, parts: list[str]) -> str:
    """Return what a value is that is no fact; empty for all others."""
    if not path.startswith("/") or len(parts) < 3 or parts[0] not in _ROOTS:
        root = parts[0] if parts else path
        return f"a value below {'/' + root[:80]!r}, which is no fact"
    if parts[0] == "sessions" and parts[2] not in _OF_SESSIONS:
        return f"{parts[2][:80]!r} of a session, which is neither {', '.join(_OF_SESSIONS)}"
    return ""


def _plant(tree: dict[str, Any], parts: list[str], value: object) -> str:
    """Put a value into the tree of all; return what is wrong with it."""
    if len(parts) > _DEPTH_MAX:
        return f"it has more than {_DEPTH_MAX} parts"
    for part in parts[:-1]:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            return "a value stands above it"
        tree = below
    old = tree.get(parts[-1])
    if old is not None and old != value:
        return "another value stands there"
    tree[parts[-1]] = value
    return ""


def _list_values(
    node: dict[str, Any], above: tuple[str, ...], reading: Reading
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value that makes one fact, with its path."""
    for part, value in node.items():
        parts = (*above, part)
        if not isinstance(value, dict) or (len(parts) >= 3 and _is_whole(parts, value)):
            yield parts, value
        elif len(parts) > _DEPTH_MAX:
            reading.leave(_join(parts), "it is nested too deeply")
        else:
            yield from _list_values(value, parts, reading)


def _is_whole(parts: tuple[str, ...], value: dict[str, Any]) -> bool:
    """Tell whether an object is one fact: a section, a text with its title, or a list."""
    if parts[1] in _SECTIONS and parts[0] == "memory":
        return len(parts) >= 4 and "body" in value
    own = value.keys() - {"title"}
    is_text = len(own) == 1 and next(iter(own)) in _TEXTS
    return is_text or _is_numbered(value)


def _is_numbered(value: dict[str, Any]) -> bool:
    return bool(value) and value.keys() == {str(number) for number in range(len(value))}


def _read_value(reading: Reading, parts: tuple[str, ...], value: object, scope: Scope) -> None:
    title = ""
    if isinstance(value, dict) and _is_numbered(value):
        value = [value[str(number)] for number in range(len(value))]
    elif isinstance(value, dict):
        name = next((one for one in _TEXTS if one in value), "")
        for other in sorted(value.keys() - {name, "title"}):
            reading.leave(_join((*parts, other)), "a section has a title and a body")
        title, value = value.get("title", ""), value.get(name)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = "\n".join(f"- {one}" for one in value)
    elif isinstance(value, int | float):
        value = json.dumps(value)
    if not isinstance(value, str) or not isinstance(title, str):
        reading.leave(_join(parts), f"a {type(value).__name__} is no text")
        return
    is_section = parts[0] == "memory" and parts[1] in _SECTIONS
    draft = Draft(
        text=value,
        title=title,
        path="/" + "/".join(parts),
        confidence=CONFIDENCES["high" if is_section else "medium"],
        category="import",
        source=parts[2] if is_section else "",
        scope=scope,
        is_pinned=is_section and parts[1] == "pinned",
    )
    session = parts[1] if parts[0] == "sessions" else ""
    reading.found.append(Incoming(draft, Origin("", AGENT, session, _find_time(parts[-1]))))


def _find_time(name: str) -> float | None:
    return round(int(name, 16) / 1e9, 3) if _TIME_ID.fullmatch(name) else None


def _join(parts: tuple[str, ...]) -> str:
    return repr("/" + "/".join(parts))[1:-1]
