"""Files and folders that a run returns: found without following a link, opened or packed."""

from __future__ import annotations

import fnmatch
import os
import socket
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from .kernel import StepError, open_absolute, open_beneath
from .messages import ArtifactsAsked, BoxDescription, send
from .view import FOLDER

# Packed here, so that no program writes the archive that `executor/engine/unpacking.py` reads.

# Kind, length of the name, mode, seconds, nanoseconds, size. Name and content follow.
ENTRY = struct.Struct("=cIIqIQ")
FIRST, AGAIN, END = b"f", b"a", b"e"  # an entry, a second name of a file, the stream's end
ITSELF = os.O_PATH | os.O_NOFOLLOW  # also if it is a link
BLOCK_BYTES = 1 << 20


class TooLargeError(Exception):
    """The files of a folder have more bytes than a run may return."""


def walk(top: int, names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of these entries of a folder and of all below. Links are not followed."""
    pending = sorted(names, reverse=True)
    while pending:
        path = pending.pop()
        yield path
        entry = open_beneath(top, path, ITSELF)
        try:
            if not stat.S_ISDIR(os.fstat(entry).st_mode):
                continue
        finally:
            os.close(entry)
        folder = open_beneath(top, path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            pending += (f"{path}/{name}" for name in sorted(os.listdir(folder), reverse=True))
        finally:
            os.close(folder)


def pack(top: int, paths: Iterable[str], bytes_max: int | None = None) -> int:
    """Pack the entries at these paths of a folder into a file in memory; return its descriptor.

    Entries of any kind are packed; the reader refuses devices, sockets and FIFOs.

    Raises:
        TooLargeError: their contents are larger than `bytes_max`.
        StepError, OSError: an entry can't be read, or there is not enough memory.
    """
    target = os.memfd_create("bundle", os.MFD_CLOEXEC)
    try:
        with open(os.dup(target), "wb") as out:
            packing = _Packing(out, top, bytes_max)
            for path in paths:
                packing.add(path)
            out.write(ENTRY.pack(END, 0, 0, 0, 0, 0))
        os.lseek(target, 0, os.SEEK_SET)
    except BaseException:
        os.close(target)
        raise
    return target


class _Packing:
    def __init__(self, out: BinaryIO, top: int, bytes_max: int | None) -> None:
        self._out = out
        self._top = top
        self._room = bytes_max
        self._linked: dict[tuple[int, int], bytes] = {}  # the first name of each file with several

    def add(self, path: str) -> None:
        entry = open_beneath(self._top, path, ITSELF)
        try:
            info = os.fstat(entry)
            if stat.S_ISLNK(info.st_mode):
                self._write(FIRST, path, info, os.readlink(b"", dir_fd=entry))
            elif not stat.S_ISREG(info.st_mode):
                self._write(FIRST, path, info, b"")
            elif first := self._linked.get((info.st_dev, info.st_ino)):
                self._write(AGAIN, path, info, first)
            else:
                self._add_file(path, info)
        finally:
            os.close(entry)

    def _add_file(self, path: str, info: os.stat_result) -> None:
        if info.st_nlink > 1:
            self._linked[info.st_dev, info.st_ino] = os.fsencode(path)
        if self._room is not None:
            self._room -= info.st_size
            if self._room < 0:
                raise TooLargeError
        self._write(FIRST, path, info, None)
        source = open_beneath(self._top, path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            left = info.st_size
            while left and (block := os.read(source, min(left, BLOCK_BYTES))):
                self._out.write(block)
                left -= len(block)
        finally:
            os.close(source)
        if left:
            raise OSError(f"{path} became shorter while it was read")

    def _write(self, kind: bytes, path: str, info: os.stat_result, content: bytes | None) -> None:
        """Write the header of an entry, and its `content` (None for a file's: it follows)."""
        name = os.fsencode(path)
        size = info.st_size if content is None else len(content)
        seconds, rest = divmod(info.st_mtime_ns, 10**9)
        self._out.write(ENTRY.pack(kind, len(name), info.st_mode, seconds, rest, size))
        self._out.write(name + (content or b""))


ARTIFACTS_MAX = 100  # below what one message may carry of descriptors (SCM_MAX_FD, 253)
ENTRIES_MAX = 50_000
DEPTH_MAX = 32
SECONDS_MAX = 2.0
TOO_LARGE = "the limit for artifacts"


class TooMuchError(Exception):
    """A search exceeds its limits."""


@dataclass(slots=True)
class Collected:
    """Matches as open descriptors, and matches that are not returned, with the reasons."""

    room: int  # bytes that may still be returned
    found: list[tuple[str, int]] = field(default_factory=list)  # name, size
    fds: list[int] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def skip(self, name: str, reason: str) -> None:
        if len(self.skipped) < ARTIFACTS_MAX:
            self.skipped.append((name, reason))

    def take(self, top: int, path: str, name: str) -> None:
        """Open one match, if it is a regular file that fits."""
        if len(self.fds) == ARTIFACTS_MAX:
            self.skip(name, f"more than {ARTIFACTS_MAX} files")
            return
        try:
            # Not blocking: opening a FIFO must not wait for its other end.
            fd = open_beneath(top, path, os.O_RDONLY | os.O_NONBLOCK)
        except StepError as error:
            self.skip(name, str(error))
            return
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode) and info.st_size <= self.room:
            self.room -= info.st_size
            self.fds.append(fd)
            self.found.append((name, info.st_size))
            return
        os.close(fd)
        too_large = f"its {info.st_size:,} bytes exceed {TOO_LARGE}"
        self.skip(name, too_large if stat.S_ISREG(info.st_mode) else "not a regular file")

    def pack(self, folder: str, names: Sequence[str]) -> None:
        """Pack those of the named entries of a folder that exist; all entries if none is named."""
        try:
            top = open_absolute(folder, FOLDER)
        except StepError:
            self.skip(folder, "the folder is missing, or its path has a link")
            return
        try:
            present = [name for name in os.listdir(top) if not names or name in names]
            fd = pack(top, walk(top, present), self.room)
        except TooLargeError:
            self.skip(folder, f"its bytes exceed {TOO_LARGE}")
        except (StepError, OSError) as error:
            self.skip(folder, str(error))
        else:
            self.fds.append(fd)
            self.found.append((folder, os.fstat(fd).st_size))
        finally:
            os.close(top)


def hand_over(control: socket.socket, cell: BoxDescription, run: ArtifactsAsked) -> None:
    """Send the declared files, opened when no process of the run is left to exchange them."""
    packed = run.get("packed")
    if not run["artifacts"] and packed is None:
        return
    collected = collect(run["artifacts"], run["cwd"], cell["scratch_folder"], run["artifact_bytes"])
    if packed is not None:
        collected.pack(*packed)
    send(control, {"artifacts": collected.found, "skipped": collected.skipped}, collected.fds)
    for fd in collected.fds:
        os.close(fd)


def collect(patterns: Sequence[str], cwd: str, scratch: str, bytes_max: int) -> Collected:
    """Collect the regular files that match a pattern: `*` within a name, `**` for any folders.

    A pattern is relative to `cwd` or, if nothing matches there, to `scratch`; or it is absolute and
    below one of them. Names are compared with those on disk, so `..` matches nothing and no pattern
    leads outside.
    """
    collected = Collected(bytes_max)
    deadline = time.monotonic() + SECONDS_MAX
    for pattern in patterns:
        base, rest = _split(pattern, cwd, scratch)
        if rest is None:
            collected.skip(pattern, f"not below {cwd} or {scratch}")
            continue
        is_relative = not pattern.startswith("/")
        try:
            prefix = "" if base == cwd else f"{base}/"
            if not _search(base, rest, prefix, collected, deadline) and is_relative:
                _search(scratch, rest, "", collected, deadline)
        except TooMuchError:
            collected.skip(pattern, "too many files to search")
        except StepError:
            collected.skip(pattern, f"{base} is missing, or its path has a link")
    return collected


def _search(
    base: str, parts: list[str], prefix: str, collected: Collected, deadline: float
) -> bool:
    """Collect the matches below a folder; return whether there were any."""
    top = open_absolute(base, FOLDER)  # programs may have put links on its path
    any_match = False
    try:
        for path in _Search(top, deadline).matches("", parts):
            any_match = True
            if not any(prefix + path == other for other, _ in collected.found):
                collected.take(top, path, prefix + path)
    finally:
        os.close(top)
    return any_match


def _split(pattern: str, cwd: str, scratch: str) -> tuple[str, list[str] | None]:
    """Return the folder to search and the pattern's parts below it; None if it is outside."""
    if not pattern.startswith("/"):
        return cwd, [part for part in pattern.split("/") if part not in ("", ".")]
    for base in (cwd, scratch):
        if pattern.startswith(f"{base}/"):
            return base, [part for part in pattern[len(base) :].split("/") if part]
    return cwd, None


class _Search:
    """A walk below a folder, only into folders that a pattern can match, within limits."""

    def __init__(self, top: int, deadline: float) -> None:
        self._top = top
        self._deadline = deadline
        self._seen = 0

    def matches(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Yield the paths of entries other than folders; `take` refuses links among them."""
        if not parts or folder.count("/") > DEPTH_MAX:
            return
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self.matches(folder, rest)
        for name, is_folder in self._entries(folder):
            path = f"{folder}/{name}" if folder else name
            if part == "**" and is_folder:
                yield from self.matches(path, parts)
            elif part != "**" and fnmatch.fnmatchcase(name, part):
                if is_folder:
                    yield from self.matches(path, rest)
                elif not rest:
                    yield path

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        try:
            fd = os.open(folder or ".", FOLDER | os.O_NOFOLLOW, dir_fd=self._top)
        except OSError:
            return []
        try:
            with os.scandir(fd) as found:
                entries = sorted((e.name, e.is_dir(follow_symlinks=False)) for e in found)
        finally:
            os.close(fd)
        self._seen += len(entries)
        if self._seen > ENTRIES_MAX or time.monotonic() > self._deadline:
            raise TooMuchError
        return entries
