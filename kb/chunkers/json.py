"""JSON and JSON Lines by key path: exact text, titles like `users > [3] alice > address`.

A tokenizer with a stack rather than a parser: it never recurses, holds only what may still become
one chunk, and reads broken or unending input as well as valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from kb.packing import MERGE_BYTES, TARGET_BYTES, Mark

IDENTITY = (b"name", b"title", b"label", b"path", b"key", b"slug", b"id")
"""Fields whose value names the record that has them, the most specific first."""

IDENTITY_BYTES = 200
"""A longer item names nothing."""

_LEVELS = 6
"""Deeper nesting is left to a reader with a stack."""

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_NESTED = rb"(?!)"
for _ in range(_LEVELS):
    _NESTED = rb'[\[{](?>(?:[^"\[\]{}]++|' + _STRING + rb"|" + _NESTED + rb")*)[\]}]"
_CONTAINER = re.compile(_NESTED, re.DOTALL)

_IDENTIFYING = (
    rb'[^",\[\]{}]*+"(?:' + b"|".join(IDENTITY) + rb')"'
    rb'(?>(?:[^",\[\]{}]++|' + _STRING + rb")*)(?=[,\]}])"
)
_NEXT_IDENTIFYING = re.compile(
    rb"(?>(?:(?!" + _IDENTIFYING + rb")"
    rb'(?>(?:[^",\[\]{}]++|' + _STRING + rb"|" + _NESTED + rb")*),)*)"
    rb"(" + _IDENTIFYING + rb")",
    re.DOTALL,
)
"""Items of an object up to one that may name it, from the beginning of an item."""


def end(data: bytes, at: int, limit: int) -> int | None:
    """Find where the container at `at` ends; None if it is longer than `limit` bytes, nested
    deeply, or broken."""
    found = _CONTAINER.match(data, at, at + limit)
    return None if found is None else found.end()


def identity(container: bytes) -> bytes:
    """Return the name in a container's text; empty if it has none."""
    if container.startswith(b"["):
        return b""
    rank, best, position = len(IDENTITY), b"", 1
    while rank and (found := _NEXT_IDENTIFYING.match(container, position)):
        position, item = found.end(), found[1]
        of_key = IDENTITY.index(item.split(b'"', 2)[1])
        if of_key < rank and len(item) < IDENTITY_BYTES:
            rank, best = of_key, value(item)
    return best


def value(item: bytes) -> bytes:
    """Return the value of an item, without quotes."""
    return item.partition(b":")[2].strip().strip(b'"')


_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[{}\[\],]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_SPACE = re.compile(rb"[\s,]*")

_PATH_ENDS = 6
"""Longer paths show this many elements of each end."""

_NAMES_IN_TITLE = 12

DEPTH_MAX = 1000
"""Deeper containers are counted, not stored: each byte could cost hundreds of bytes of memory."""


@dataclass(slots=True)
class _Container:
    """An object or array that is still open."""

    start: int
    is_object: bool
    name: str
    item_start: int
    count: int = 0
    key: bytes | None = None
    value: str | None = None  # the name of a container that just closed as the current item's value
    is_spread: bool = False  # the value's items became chunks: none of it is left to mark
    identity: bytes = b""
    identity_rank: int = len(IDENTITY)
    items: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """Return the key or number, and the identity if it is known yet."""
        return f"{self.name} {_decode(self.identity)}".strip()


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each separate value, and one for each run of small neighbours."""
    return Scan(data).marks()


def line_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield the same for JSON Lines, each record titled by its number and identity."""
    return Scan(data, lines=True).marks()


class Scan:
    """One pass over the tokens of a source, or of a part of one.

    Containers at the bottom of the stack that have outgrown a chunk are "spread": their items are
    sections. The first `_spread` of the stack are; the rest may still fit in one.

    `state` is that of the scan that ended where `data` begins, so paths continue across parts.
    """

    def __init__(self, data: bytes, *, lines: bool = False, state: str | None = None) -> None:
        self._data = data
        self._lines = lines
        self._group_start = 0
        self._group: list[str] = []
        """The names of small neighbours that will share a section."""
        self._in_string = self._in_escape = False
        self._deeper = 0  # containers that are open below the deepest that is kept
        root = _Container(0, is_object=False, name="", item_start=0)
        self._stack = [root]
        if state is not None:
            self._resume(json.loads(state))
        self._spread = len(self._stack)

    def marks(self) -> Iterator[Mark]:
        """Yield the marks; `state` is valid once they are exhausted."""
        position: int | None = self._after_string()
        while position is not None:
            position = yield from self._marks_from(position)
        if len(self._stack) > 1:
            yield from self._cut_off()
        yield from self._flush()

    def _marks_from(self, position: int) -> Generator[Mark, None, int | None]:
        """Yield the marks up to a skipped container, or to the end; return where to continue."""
        data, stack = self._data, self._stack
        token: re.Match[bytes] | None = None
        for token in _TOKEN.finditer(data, position):
            at, end = token.span()
            char, top = data[at], stack[-1]
            passed = None
            if self._deeper or (len(stack) > DEPTH_MAX and char in b"{["):
                self._deeper += (char in b"{[") - (char in b"}]")
            elif char == 0x22:
                if top.is_object and top.key is None:
                    top.key = data[at + 1 : min(end - 1, at + IDENTITY_BYTES)]
            elif char == 0x2C:
                yield from self._end_item(top, at, at + 1)
            elif char not in b"{[":
                yield from self._close(at, end)
            elif passed := self._small_end(at):
                yield from self._skip_container(top, at, passed)
            else:
                stack.append(_Container(at, char == 0x7B, self._name(top), end))
            end = passed or end
            while len(stack) > self._spread and end - stack[self._spread].start > TARGET_BYTES:
                yield from self._spread_out()
            if passed:
                return passed
        if token is not None and data[token.start()] == 0x22 and not token.group(1):
            self._in_string, self._in_escape = True, token.end() < len(data)
        return None

    def _small_end(self, at: int) -> int | None:
        """Find where the container that begins here ends, if it surely fits in one chunk."""
        if len(self._stack) == 1 and not self._lines:
            return None  # the items of the only value are reported
        return end(self._data, at, TARGET_BYTES)

    def _skip_container(self, top: _Container, at: int, end: int) -> Iterator[Mark]:
        """Yield the marks for a container that is never spread, from opening to closing."""
        found = identity(self._data[at:end])
        top.value = f"{self._name(top)} {_decode(found)}".strip()
        if len(self._stack) == 1:
            yield from self._end_item(top, end, end)

    def _after_string(self) -> int:
        """Return where the tokens begin, after a string that an earlier part began."""
        if not self._in_string:
            return 0
        rest = _REST_OF_STRING.match(self._data, 1 if self._in_escape else 0)
        assert rest is not None
        self._in_string = not rest.group(1)
        self._in_escape = self._in_string and rest.end() < len(self._data)
        return rest.end()

    def _cut_off(self) -> Iterator[Mark]:
        """Yield the marks if the source, or this part of it, ends within containers."""
        while len(self._stack) > self._spread:
            yield from self._spread_out()
        top = self._stack[-1]
        if not top.is_spread and not _SPACE.fullmatch(self._data, top.item_start):
            name = _decode(top.key) if top.key is not None else self._name(top)
            yield from self._add(top.item_start, len(self._data), name)

    def state(self) -> str:
        """Return what a scan of the next part needs: the position in the tree."""
        told = [
            *range(_PATH_ENDS),
            *range(max(_PATH_ENDS, len(self._stack) - 64), len(self._stack)),
        ]
        top = self._stack[-1]
        begun = top.is_spread or not _SPACE.fullmatch(self._data, top.item_start)
        return json.dumps(
            {
                "deeper": self._deeper,
                "objects": "".join("oa"[not c.is_object] for c in self._stack),
                "told": {at: _state_of(self._stack[at]) for at in told if at < len(self._stack)},
                "begun": begun,
                "string": self._in_string,
                "escape": self._in_escape,
            }
        )

    def _resume(self, state: dict[str, Any]) -> None:
        self._stack = [
            _Container(0, is_object=kind == "o", name="", item_start=0) for kind in state["objects"]
        ]
        for at, (name, count, key, identity, rank) in state["told"].items():
            container = self._stack[int(at)]
            container.name, container.count = name, count
            container.key = None if key is None else key.encode()
            container.identity, container.identity_rank = identity.encode(), rank
        self._deeper = state["deeper"]
        top = self._stack[-1]
        if state["begun"] and not top.is_object:
            top.value = self._name(top)
        self._in_string, self._in_escape = state["string"], state["escape"]

    def _name(self, container: _Container) -> str:
        """Return the path element of the value that starts now in `container`."""
        if container.is_object:
            return _decode(container.key or b"")
        if len(self._stack) == 1 and not self._lines:
            return ""
        return f"[{container.count}]"

    def _close(self, at: int, end: int) -> Iterator[Mark]:
        if len(self._stack) == 1:
            return  # it was never opened
        yield from self._end_item(self._stack[-1], at, at)
        closed = self._stack.pop()
        parent = self._stack[-1]
        if self._spread > len(self._stack):
            self._spread = len(self._stack)
            yield from self._flush()
            parent.is_spread = True
        elif len(self._stack) == 1 and not self._lines:
            parent.value = _join([name for _, _, name in closed.items])
        else:
            parent.value = closed.full_name
        if len(self._stack) == 1:
            yield from self._end_item(parent, end, end)

    def _end_item(self, top: _Container, end: int, next_start: int) -> Iterator[Mark]:
        """End an item of `top`: add it to its siblings, or mark it if `top` is spread."""
        start, key, value, is_spread = top.item_start, top.key, top.value, top.is_spread
        top.item_start, top.key, top.value, top.is_spread = next_start, None, None, False
        empty = value is None and (
            key is None if top.is_object else _SPACE.fullmatch(self._data, start, end)
        )
        if empty and not is_spread:
            return
        name = value if value is not None else _decode(key) if key is not None else self._name(top)
        top.count += 1
        if is_spread:
            return
        if key in IDENTITY and value is None and end - start < IDENTITY_BYTES:
            self._identify(top, key, self._data[start:end])
        if len(self._stack) <= self._spread:
            yield from self._add(start, end, name)
        else:
            top.items.append((start, end, name))

    def _identify(self, record: _Container, key: bytes, item: bytes) -> None:
        rank = IDENTITY.index(key)
        if rank < record.identity_rank:
            record.identity_rank = rank
            record.identity = value(item)

    def _spread_out(self) -> Iterator[Mark]:
        """Spread the outermost container that might have fitted in one chunk but outgrew it."""
        container = self._stack[self._spread]
        yield from self._flush()
        self._spread += 1
        for start, end, name in container.items:
            yield from self._add(start, end, name)
        container.items.clear()

    def _add(self, start: int, end: int, name: str) -> Iterator[Mark]:
        if end - start >= MERGE_BYTES:
            yield from self._flush()
            yield self._mark(start, name)
            return
        if not self._group or end - self._group_start > TARGET_BYTES:
            yield from self._flush()
            self._group_start = start
        self._group.append(name)

    def _flush(self) -> Iterator[Mark]:
        if self._group:
            yield self._mark(self._group_start, _join(self._group))
            self._group = []

    def _mark(self, start: int, name: str) -> Mark:
        space = _SPACE.match(self._data, start)
        assert space is not None
        path = [c.full_name for c in self._outer() if c.full_name]
        return Mark(space.end(), (*path, name) if name else tuple(path))

    def _outer(self) -> list[_Container]:
        if self._spread <= 2 * _PATH_ENDS:
            return self._stack[: self._spread]
        return self._stack[:_PATH_ENDS] + self._stack[self._spread - _PATH_ENDS : self._spread]


def _state_of(container: _Container) -> tuple[str, int, str | None, str, int]:
    key = None if container.key is None else _decode(container.key)
    identity = _decode(container.identity)
    return container.name, container.count, key, identity, container.identity_rank


def _join(names: list[str]) -> str:
    names = [name for name in names if name]
    if len(names) > _NAMES_IN_TITLE:
        return f"{names[0]} … {names[-1]}"
    return ", ".join(names)


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
