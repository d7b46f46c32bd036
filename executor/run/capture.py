"""Bounded capture of output streams, and copies of files that a run returned."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from base.secrets import find_divided
from executor.model import Artifact, Stream, readable
from executor.spawner.messages import HandedOver

NAME_CHARACTERS_MAX = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def store_artifacts(
    handed_over: HandedOver, fds: Sequence[int], folder: Path
) -> tuple[Artifact, ...]:
    """Copy every open file into `folder`, and close the descriptors.

    Raises:
        OSError: the folder cannot be written.
    """
    artifacts = []
    files, skipped = handed_over
    try:
        if fds:
            folder.mkdir(mode=0o700)
        for number, ((name, size), fd) in enumerate(zip(files, fds, strict=True), 1):
            target = folder / f"{number:02d}-{safe_name(name)}"
            copied = _copy(fd, target, size)
            artifacts.append(Artifact(readable(name), copied, str(target)))
    finally:
        for fd in fds:
            os.close(fd)
    return *artifacts, *(Artifact(readable(name), reason=why) for name, why in skipped)


def safe_name(name: str) -> str:
    """Return the last part of a name that a program chose, safe for shells and file systems."""
    safe = _UNSAFE.sub("_", os.path.basename(name))[-NAME_CHARACTERS_MAX:]
    if not safe.strip("."):  # nothing, this folder or the one above
        return "file"
    return f"_{safe[1:]}" if safe.startswith("-") else safe


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _copy(source: int, target: Path, size: int) -> int:
    """Copy up to `size` bytes: the size that was allowed, in case the file has grown since."""
    copied = 0
    with open(target, "xb", opener=_private_opener) as out:
        while copied < size:
            sent = os.sendfile(out.fileno(), source, copied, min(size - copied, 1 << 20))
            if sent == 0:
                break
            copied += sent
    return copied


HEAD_SHARE = 0.6  # of the inline budget; the tail gets the rest
READ_BYTES = 256 * 1024


class Capture:
    """The capture of a stream. Memory is bounded by the inline budget, whatever arrives.

    Up to `inline_bytes` the stream stays whole in memory and no file is made. Longer streams go to
    `spool` (mode 0600), until `discard` is called. Later bytes are counted, and only the last of
    them are kept for the tail.
    """

    def __init__(self, spool: Path, inline_bytes: int) -> None:
        self._path = spool
        self.spool: Path | None = None  # the file of the whole stream; None if it fits in memory
        self._inline = inline_bytes
        self._kept = bytearray()  # the first inline_bytes
        self._tail = bytearray()  # the last of what came after them
        self._file: BinaryIO | None = None
        self.bytes_total = 0
        self.lines_total = 0
        self.discarding = False

    def feed(self, chunk: bytes) -> None:
        """Add the next bytes.

        Raises:
            OSError: the spool can't be written (disk full).
        """
        self.bytes_total += len(chunk)
        self.lines_total += chunk.count(b"\n")
        if self.discarding:
            self._keep_last(chunk)
            return
        if self._file is None and self.bytes_total > self._inline:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._file, self.spool = os.fdopen(fd, "wb"), self._path
            self._file.write(self._kept)
        if self._file is not None:
            self._file.write(chunk)
        room = self._inline - len(self._kept)
        self._kept += chunk[:room]
        if room < len(chunk):
            self._keep_last(chunk[room:])

    def _keep_last(self, chunk: bytes) -> None:
        self._tail += chunk[-self._inline :]
        if len(self._tail) > 4 * self._inline:
            del self._tail[: -self._inline]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def stream(self) -> Stream:
        """Return the stream as a result shows it: whole, or head and tail on line boundaries."""
        if self.bytes_total <= self._inline:
            text, binary = decode(bytes(self._kept))
            return Stream(text, "", self.bytes_total, self.lines_total, binary=binary)
        head = cut_head(bytes(self._kept), int(self._inline * HEAD_SHARE))
        tail_bytes = self._inline - int(self._inline * HEAD_SHARE)
        tail = cut_tail(bytes(self._kept[len(head) :] + self._tail), tail_bytes)
        head_text, head_binary = decode(head)
        tail_text, tail_binary = decode(tail)
        shown = head.count(b"\n") + tail.count(b"\n")
        return Stream(
            head=head_text,
            tail=tail_text,
            bytes_total=self.bytes_total,
            lines_total=self.lines_total,
            bytes_omitted=self.bytes_total - len(head) - len(tail),
            lines_omitted=self.lines_total - shown,
            binary=head_binary or tail_binary,
        )


def cut_head(content: bytes, budget: int) -> bytes:
    """Return up to `budget` bytes from the start, ending with a line, or else with a character.

    A line that would leave more than half of the budget unused is cut; a secret is never cut.
    """
    end = content.rfind(b"\n", budget // 2, budget) + 1 or budget
    while 0 < end == budget and _inside_character(content, budget):
        end = budget = budget - 1
    return content[: find_divided(content, end)[0]]


def cut_tail(content: bytes, budget: int) -> bytes:
    """Return up to `budget` bytes from the end, starting with a line, or else with a character.

    A line that would leave more than half of the budget unused is cut; a secret is never cut.
    """
    start = max(0, len(content) - budget)
    if start == 0:
        return content
    line = content.find(b"\n", start - 1, len(content) - budget // 2)
    start = line + 1 or start
    while start < len(content) and _inside_character(content, start):
        start += 1
    return content[find_divided(content, start)[1] :]


def _inside_character(content: bytes, at: int) -> bool:
    """Return whether `at` is between the bytes of one UTF-8 character."""
    return at < len(content) and content[at] & 0xC0 == 0x80


def decode(content: bytes) -> tuple[str, bool]:
    """Return the text, and whether bytes were undecodable: these become U+FFFD."""
    try:
        return content.decode(), b"\0" in content
    except UnicodeDecodeError:
        return content.decode(errors="replace"), True
