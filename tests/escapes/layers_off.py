"""Taking one layer off: edits to what the server asks of the spawner, on the wire.

The real executor, spawner, supervisor and runner do the rest, so that a control differs from its
attack in that layer alone.
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from executor import Executor, work_copy
from executor.cells import Cell, Spawner

ALLOW_EVERYTHING = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)  # BPF: return SECCOMP_RET_ALLOW


class Packed:
    """A description as the spawner takes it, taken apart for editing."""

    def __init__(self, packed: bytes) -> None:
        (length,) = struct.unpack_from("=Q", packed)
        self.data: dict[str, Any] = json.loads(packed[8 : 8 + length])
        self._blobs = bytearray(packed[8 + length :])

    def blob(self, content: bytes) -> tuple[int, int]:
        offset = len(self._blobs)
        self._blobs += content
        return offset, len(content)

    def pack(self) -> bytes:
        text = json.dumps(self.data).encode()
        return struct.pack("=Q", len(text)) + text + bytes(self._blobs)


Edit = Callable[[Packed, str], None]  # what is asked for, and whether it is a "cell" or a "run"


def seccomp(packed: Packed, kind: str) -> None:
    if kind == "cell":
        packed.data["seccomp"] = packed.blob(ALLOW_EVERYTHING)


def landlock(packed: Packed, kind: str) -> None:
    """All that Landlock can grant. What it scopes (signals, abstract sockets) stays scoped."""
    if kind == "cell":
        packed.data["access"] = [["/", "rw"]]


def protection(packed: Packed, kind: str) -> None:
    """Protected paths are like any other, and secrets lie open."""
    if kind == "cell" and "project" in packed.data:
        packed.data["project"] |= {"protected": [], "watched": [], "pinned": [], "secrets": []}


def copy_on_write(packed: Packed, kind: str) -> None:
    """The project itself, in place of a copy."""
    if kind == "cell":
        packed.data["project"] |= {"mode": "live"}


def rlimit(number: int) -> Edit:
    """Without this one rlimit."""

    def edit(packed: Packed, kind: str) -> None:
        if kind == "run":
            packed.data["rlimits"] = [r for r in packed.data["rlimits"] if r[0] != number]

    return edit


def bound(path: str) -> Edit:
    """With this path of the host shown, and writable."""

    def edit(packed: Packed, kind: str) -> None:
        if kind == "cell":
            packed.data["binds"].append([path, path, 0])

    return edit


class WeakSpawner:
    """A spawner that is asked for less than the executor wants."""

    def __init__(self, spawner: Spawner, edits: tuple[Edit, ...]) -> None:
        self._spawner = spawner
        self._edits = edits

    def __getattr__(self, name: str) -> object:
        return getattr(self._spawner, name)

    async def start_cell(self, packed: bytes, tier: str) -> WeakCell:
        cell = await self._spawner.start_cell(edited(packed, "cell", self._edits), tier)
        return WeakCell(cell, self._edits)


class WeakCell:
    """A cell whose run is asked for with less, too."""

    def __init__(self, cell: Cell, edits: tuple[Edit, ...]) -> None:
        self._cell = cell
        self._edits = edits

    def __getattr__(self, name: str) -> object:
        return getattr(self._cell, name)

    async def run(self, packed: bytes, *more: Any, **named: Any) -> None:
        await self._cell.run(edited(packed, "run", self._edits), *more, **named)


def edited(packed: bytes, kind: str, edits: tuple[Edit, ...]) -> bytes:
    unpacked = Packed(packed)
    for edit in edits:
        edit(unpacked, kind)
    return unpacked.pack()


# Tier B protects when it commits a copy, which is the server's own part.
AT_COMMIT = {protection: (work_copy.WorkCopy, "_is_protected", lambda *_: False)}


@contextlib.contextmanager
def weakened(executor: Executor, edits: tuple[Edit, ...]) -> Iterator[None]:
    """The executor with layers off."""
    runner: Any = executor._runner
    whole = runner.placement
    runner.placement = replace(whole, spawner=WeakSpawner(whole.spawner, edits))
    kept = []
    for edit in edits:
        if edit in AT_COMMIT:
            place, name, weak = AT_COMMIT[edit]
            kept.append((place, name, getattr(place, name)))
            setattr(place, name, weak)
    try:
        yield
    finally:
        runner.placement = whole
        for place, name, strong in kept:
            setattr(place, name, strong)
