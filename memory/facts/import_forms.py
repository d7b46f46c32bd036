"""Forms of files that can be imported: own JSON, CTXone's export, a CLAUDE.md.

Nothing is checked or cleaned yet: no field is trusted to be present, or to have its type. CTXone
stores values by path, `{"ref": …, "paths": {"/memory/x/1": …}}`. In a CLAUDE.md, each part below a
heading is a fact; if the part is a list, each item is one.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from markdown_it import MarkdownIt

from memory.errors import BadInputError
from memory.facts.exporting import drop_section
from memory.facts.model import (
    CONFIDENCES,
    LATEST_AT,
    NOBODY,
    TITLE_BYTES_MAX,
    Author,
    Category,
    Draft,
    Scope,
    is_id,
    make_slug,
)
from memory.facts.priming import make_source, split_sections
from memory.texts import cut_bytes

FACTS_MAX = 20_000
"""An import is one transaction, for which other writers wait."""

LEFT_OUT_MAX = 1000
_REASON_CHARS = 400

_FIELDS = frozenset([
    *("id", "path", "title", "text", "tags", "scope", "category", "why", "confidence", "source"),
    *("expires_at", "pinned", "author"),
])  # fmt: skip
_AUTHORS_FIELDS = frozenset(["agent", "session", "at"])

_SLUG_BYTES = 60
_BLOCKS = MarkdownIt("commonmark").disable("inline")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_LISTS = ("bullet_list", "ordered_list")

AGENT = "ctxone"
_ROOTS = ("memory", "sessions")
_OF_SESSIONS = ("summary", "decisions", "details")
_SECTIONS = ("pinned", "primed")
_TEXTS = ("body", "value", "fact", "text", "content")
_DEPTH_MAX = 32
# CTXone's ids are nanoseconds since the epoch, as hexadecimal digits.
_TIME_ID = re.compile("1[0-9a-f]{15}")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A fact of a file."""

    draft: Draft
    origin: Author = NOBODY  # original author
    expires_at: float | None = None
    uid: str = ""  # original id, or empty

    def with_key(self) -> Incoming:
        """Return it with the last part of its path as its key: the name may make a value a
        secret."""
        key = self.draft.path.rpartition("/")[2]
        return replace(self, draft=replace(self.draft, key=key))


class Reading:
    """The facts of a file in its order, and the skipped parts with reasons."""

    def __init__(self) -> None:
        self.found: list[Incoming] = []
        self.left_out: list[str] = []
        self._counts = Counter[str]()

    def leave(self, where: str, why: str) -> None:
        """Note one skipped part of the file."""
        self.left_out.append(f"{where[:_REASON_CHARS]}: {why[:_REASON_CHARS]}")

    def count(self, why: str) -> None:
        """Count one more skipped part of a kind."""
        self._counts[why] += 1

    def list_left_out(self) -> tuple[str, ...]:
        """List the skipped parts, and the skipped kinds with their numbers; a long list is cut."""
        counted = [f"{why} ({number} times)" for why, number in sorted(self._counts.items())]
        return cut_list([*self.left_out, *counted])


def cut_list(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, and the number of the others."""
    found = list(lines)
    more = len(found) - LEFT_OUT_MAX
    return tuple(found) if more <= 0 else (*found[:LEFT_OUT_MAX], f"and {more} more")


def read_own(facts: object) -> Reading:
    """Read the list of facts of an export.

    Raises:
        BadInputError: it is not a list.
    """
    if not isinstance(facts, list):
        raise BadInputError("facts is not a list", "Give what `context-mode memory export` writes.")
    reading = Reading()
    for number, row in enumerate(facts, 1):
        if not isinstance(row, dict):
            reading.leave(f"fact {number}", "it is not an object")
            continue
        path = row.get("path")
        where = path if isinstance(path, str) and path else f"fact {number}"
        try:
            reading.found.append(_read_fact(row))
        except BadInputError as error:
            reading.leave(repr(where)[1:-1], error.message)
            continue
        for name in sorted(row.keys() - _FIELDS):
            reading.count(f"unknown field {name[:80]!r}")
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


def _read_author(author: object) -> Author:
    if not isinstance(author, dict):
        raise BadInputError("author is not an object")
    unknown = author.keys() - _AUTHORS_FIELDS
    if unknown:
        raise BadInputError(f"author has the unknown field {min(unknown)[:80]!r}")
    agent, session = author.get("agent", ""), author.get("session", "")
    if not isinstance(agent, str) or not isinstance(session, str):
        raise BadInputError("the author's agent or session is not a text")
    at = _read_number("at", author.get("at"))
    if at is not None and not 0 <= at <= LATEST_AT:
        raise BadInputError("the author's time is outside the years 1970 to 9999")
    return Author(agent, session, at=None if at is None else round(at, 3))


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
    raise BadInputError(f"{name} is not a number")


def read_claude_md(
    text: str, source: str, scope: Scope, *, category: Category = "import"
) -> Reading:
    """Read a CLAUDE.md, without the section that an export wrote.

    Raises:
        BadInputError: the marks of an export are not a pair, or the name is empty.
    """
    reading, name = Reading(), make_source(source)
    own = drop_section(text)
    if own != text:
        reading.left_out.append("the section that an export wrote: its facts are already stored")
    used: dict[str, int] = {}
    for _, heading, body in split_sections(own, source):
        title = cut_bytes(" ".join(heading.split()), TITLE_BYTES_MAX)
        folder = _find_free(f"/memory/{name}/{_slug(title)}", used)
        items = list_items(body)
        for item in items or [body]:
            path = _find_free(f"{folder}/{_slug(item)}", used) if items else folder
            draft = Draft(item, title, path, category=category, source=name, scope=scope)
            reading.found.append(Incoming(draft))
    return reading


def list_items(text: str) -> list[str]:
    """List the items of a Markdown text that has only lists, each with its nested lines; otherwise
    return none."""
    lines = text.split("\n")
    items = list[str]()
    for token in _BLOCKS.parse(text):
        if token.level == 0 and token.type.rpartition("_")[0] not in _LISTS:
            return []
        if token.level == 1 and token.type == "list_item_open" and token.map:
            items.append(_outdent(lines[token.map[0] : token.map[1]]))
    return [item for item in items if item]


def _outdent(lines: list[str]) -> str:
    found = _ITEM.match(lines[0])
    width = found.end() if found else 0
    rest = [line[width:] if not line[:width].strip() else line.lstrip() for line in lines[1:]]
    return "\n".join([lines[0][width:], *rest]).strip()


def _slug(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return cut_bytes(make_slug(first), _SLUG_BYTES).rstrip("…").strip("-") or "section"


def _find_free(path: str, used: dict[str, int]) -> str:
    """Return an unused path: a second equal one ends in -2."""
    free, number = path, used.get(path, 0)
    while free in used:
        number += 1
        free = f"{path}-{number}"
    used[path] = max(number, 1)
    used[free] = max(used.get(free, 0), 1)
    return free


# A value is a text; a section `{title, body}`; a list of texts; or it is stored leaf by leaf, such
# as `/memory/pinned/readme/setup/title` and `…/body`, and `/sessions/s1/decisions/0`.


def read_ctxone(document: object, scope: Scope) -> Reading:
    """Read an export of CTXone, or the paths of one.

    Raises:
        BadInputError: it is not an export.
    """
    paths = document.get("paths", document) if isinstance(document, dict) else None
    if not isinstance(paths, dict):
        raise BadInputError("paths is not an object", "Give what `ctx db export` writes.")
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
    """Return the description of a value that is not a fact; empty for facts."""
    if not path.startswith("/") or len(parts) < 3 or parts[0] not in _ROOTS:
        root = parts[0] if parts else path
        return f"a value below {'/' + root[:80]!r}, not a fact"
    if parts[0] == "sessions" and parts[2] not in _OF_SESSIONS:
        return f"{parts[2][:80]!r} of a session, which is neither {', '.join(_OF_SESSIONS)}"
    return ""


def _plant(tree: dict[str, Any], parts: list[str], value: object) -> str:
    """Put a value into the common tree; return the problem, or empty."""
    if len(parts) > _DEPTH_MAX:
        return f"it has more than {_DEPTH_MAX} parts"
    for part in parts[:-1]:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            return "a parent path has a value"
        tree = below
    old = tree.get(parts[-1])
    if old is not None and old != value:
        return "the path has another value"
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
    """Return whether an object is one fact: a section, a text with its title, or a list."""
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
            reading.leave(_join((*parts, other)), "a section needs a title and a body")
        title, value = value.get("title", ""), value.get(name)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = "\n".join(f"- {one}" for one in value)
    elif isinstance(value, int | float):
        value = json.dumps(value)
    if not isinstance(value, str) or not isinstance(title, str):
        reading.leave(_join(parts), f"a {type(value).__name__} is not a text")
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
    reading.found.append(Incoming(draft, Author(AGENT, session, at=_find_time(parts[-1]))))


def _find_time(name: str) -> float | None:
    return round(int(name, 16) / 1e9, 3) if _TIME_ID.fullmatch(name) else None


def _join(parts: tuple[str, ...]) -> str:
    return repr("/" + "/".join(parts))[1:-1]
