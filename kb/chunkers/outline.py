"""Data by the paths of its nested keys, tables and elements: YAML, TOML, INI, XML.

What outgrows a chunk is spread, small neighbours share one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kb.packing import MERGE_BYTES, TARGET_BYTES, Mark

PARTS_MAX = 500_000
"""The limit per source; the rest is cut by size. A part takes some 250 bytes of memory, and two
bytes of text can make one."""

_NAMES_IN_TITLE = 12
_PATH_ENDS = 6


class OutlinePart(NamedTuple):
    """A named part of a source; parts come in order of `start`, an enclosing one first."""

    start: int
    end: int
    name: str


def outline_marks(parts: Iterable[OutlinePart]) -> Iterator[Mark]:
    """Yield a mark for each part whose parent outgrew a chunk, or run of small siblings."""
    enclosing: list[OutlinePart] = []
    group: list[OutlinePart] = []
    for part in parts:
        while enclosing and enclosing[-1].end <= part.start:
            yield from _mark_shared(enclosing, group)
            enclosing.pop()
        if enclosing and enclosing[-1].end - enclosing[-1].start <= TARGET_BYTES:
            continue
        if group and part.end <= group[-1].end:
            continue
        if part.end - part.start < MERGE_BYTES:
            if group and part.end - group[0].start > TARGET_BYTES:
                yield from _mark_shared(enclosing, group)
            group.append(part)
            continue
        yield from _mark_shared(enclosing, group)
        yield Mark(part.start, title_path(enclosing, part.name))
        enclosing.append(part)
    yield from _mark_shared(enclosing, group)


def _mark_shared(enclosing: list[OutlinePart], group: list[OutlinePart]) -> Iterator[Mark]:
    if group:
        yield Mark(group[0].start, title_path(enclosing, join_names([part.name for part in group])))
        group.clear()


def title_path(enclosing: list[OutlinePart], name: str) -> tuple[str, ...]:
    """Return the names that are not empty; of a deep path the outermost and innermost."""
    if len(enclosing) > 2 * _PATH_ENDS:
        ends = [part.name for part in (*enclosing[:_PATH_ENDS], *enclosing[-_PATH_ENDS:])]
    else:
        ends = [part.name for part in enclosing]
    return tuple(part for part in (*ends, name) if part)


def join_names(names: list[str]) -> str:
    """Join several names to one title element."""
    names = list(dict.fromkeys(name for name in names if name))
    if len(names) > _NAMES_IN_TITLE:
        return f"{names[0]} … {names[-1]}"
    return ", ".join(names)


def nest_parts(starts: Iterable[tuple[int, int, str]], end: int) -> list[OutlinePart]:
    """Return parts from (start, depth, name) in order of start: each lasts until the next that is
    not deeper. Depths need not be consecutive."""
    parts: list[OutlinePart] = []
    open_parts: list[tuple[int, int]] = []
    for start, depth, name in starts:
        while open_parts and open_parts[-1][0] >= depth:
            index = open_parts.pop()[1]
            parts[index] = parts[index]._replace(end=start)
        open_parts.append((depth, len(parts)))
        parts.append(OutlinePart(start, end, name))
    return parts


_TABLE = re.compile(rb"[ \t]*\[{1,2}[ \t]*([^\]\n]{1,200}?)[ \t]*\]{1,2}[ \t]*(?:[#;].*)?\r?\n?$")
_KEY = re.compile(rb"[ \t]{0,8}([\w.\"'-][\w. \"'/-]{0,120}?)[ \t]*[=:]")
_QUOTES = (b'"""', b"'''")


def toml_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each table, and in one that outgrew a chunk for each key or run of keys."""
    return outline_marks(nest_parts(_names(data), len(data)))


def _names(data: bytes) -> Iterator[tuple[int, int, str]]:
    position, quote = 0, b""
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        line = data[position:end]
        if quote:
            if quote in line:
                quote = b""
        elif table := _TABLE.match(line):
            yield position, 0, table.group(1).decode("utf-8", "replace").replace('"', "")
        elif key := _KEY.match(line):
            yield position, 1, key.group(1).decode("utf-8", "replace").strip("\"'")
            quote = next((q for q in _QUOTES if line.count(q) % 2), b"")
        position = end


_XML_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    rb"|<(?P<close>/)?(?P<name>[A-Za-z_][\w:.-]{0,100})"
    rb"(?P<rest>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+'){0,200})>",
    re.DOTALL,
)
_IDENTITY = re.compile(rb"\b(?:name|id|title|key|label|path|ref)\s*=\s*[\"']([^\"']{1,100})[\"']")


def xml_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each element that outgrew its parent's chunk."""
    parts = sorted(_elements(data), key=lambda part: (part.start, -part.end))
    return outline_marks(parts)


def _elements(data: bytes) -> Iterator[OutlinePart]:
    """Yield every element, when it ends; unclosed ones end with their parent."""
    open_elements: list[tuple[int, bytes, str]] = []
    for tag in islice(_XML_TAG.finditer(data), PARTS_MAX):
        name = tag["name"]
        if name is None:
            continue
        if not tag["close"]:
            title = _element_title(name, tag["rest"])
            if tag["rest"].endswith(b"/"):
                yield OutlinePart(tag.start(), tag.end(), title)
            else:
                open_elements.append((tag.start(), name, title))
            continue
        depth = _depth_of(open_elements, name)
        while depth is not None and len(open_elements) > depth:
            start, _, title = open_elements.pop()
            yield OutlinePart(start, tag.end(), title)
    for start, _, title in open_elements:
        yield OutlinePart(start, len(data), title)


def _depth_of(open_elements: list[tuple[int, bytes, str]], name: bytes) -> int | None:
    """Return the nearest open element that a closing tag may mean; a stray tag means none."""
    for depth in range(len(open_elements) - 1, max(-1, len(open_elements) - 9), -1):
        if open_elements[depth][1] == name:
            return depth
    return None


def _element_title(name: bytes, attributes: bytes) -> str:
    identity = _IDENTITY.search(attributes)
    words = [name, identity.group(1)] if identity else [name]
    return b" ".join(words).decode("utf-8", "replace")


_KEY_LINE = re.compile(
    rb"^(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+){0,64})"
    rb"(?:(?P<key>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s#\-\"'\[{&*!|>%@`,\n][^:\n]{0,200}?"
    rb"|-[^\s:\n][^:\n]{0,200}?)[ ]*:(?=[ \r\n]|\Z)(?P<value>[^\n]{0,200})"
    rb"|(?P<item>-(?=[ \r\n]))|(?P<scalar>(?<=-[ ])[^\n]{0,80}))?",
    re.MULTILINE,
)
_BLOCK_SCALAR = re.compile(rb"[|>][-+0-9]*[ \t]*(?:#.*)?\r?$")
_DASH = re.compile(rb"-")
_WITHIN_ITEM = 9
"""The largest distance from an item to its own keys, in depths."""
_NAMING_KEY = re.compile(r"(?:name|id|title|key|label|path|slug)$")


def yaml_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each key or list item that outgrew its parent's chunk."""
    return outline_marks(nest_parts(_Keys(data).found, len(data)))


class _Keys:
    """The keys and list items of a source in order; comments and block scalars hold none.

    Attributes:
        found: the start, depth and name of each. Depth is twice the column, and one more for an
            item. So an item belongs to a key of the same column, and not to one right of it.
    """

    def __init__(self, data: bytes) -> None:
        self.found: list[tuple[int, int, str]] = []
        # The open items: their place in `found`, their depth, and their numbers.
        self._items: list[tuple[int, int, int]] = []
        position, scalar_indent = 0, -1
        while position < len(data) and len(self.found) < PARTS_MAX:
            end = data.find(b"\n", position) + 1 or len(data)
            line = _KEY_LINE.match(data, position, end)
            assert line is not None
            indent = len(line["indent"])
            if scalar_indent >= 0 and indent <= scalar_indent and data[position:end].strip():
                scalar_indent = -1
            if scalar_indent < 0 and (line["key"] or line["dashes"] or line["item"]):
                self._line(line, position, indent)
                if line["key"] and _BLOCK_SCALAR.search(line["value"].lstrip()):
                    scalar_indent = indent + len(line["dashes"])
            position = end

    def _line(self, line: re.Match[bytes], start: int, indent: int) -> None:
        """Add the list items that a line opens, numbered within their list, and its key."""
        for dash in _DASH.finditer(line["dashes"] + (line["item"] or b"")):
            self._item(start, 2 * (indent + dash.start()) + 1)
        if line["key"]:
            depth = 2 * (indent + len(line["dashes"]))
            name = line["key"].decode("utf-8", "replace").strip("\"'")
            self._leave(depth)
            self.found.append((start, depth, name))
            if _NAMING_KEY.match(name):
                self._identify(depth, line["value"].decode("utf-8", "replace").strip(" \r\"'"))

    def _item(self, start: int, depth: int) -> None:
        self._leave(depth + 1)
        number = 0
        if self._items and self._items[-1][1] == depth:
            number = self._items.pop()[2] + 1
        self._items.append((len(self.found), depth, number))
        self.found.append((start, depth, f"[{number}]"))

    def _leave(self, depth: int) -> None:
        while self._items and self._items[-1][1] >= depth:
            self._items.pop()

    def _identify(self, depth: int, value: str) -> None:
        """Name an item by the first name or id directly within it."""
        if value and self._items:
            at, item_depth, number = self._items[-1]
            start, _, name = self.found[at]
            if name == f"[{number}]" and depth - item_depth <= _WITHIN_ITEM:
                self.found[at] = (start, item_depth, f"{name} {value}")
