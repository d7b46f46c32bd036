"""Files that a run hands back: found and opened without ever following a link."""

from __future__ import annotations

import fnmatch
import os
import socket
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import bundle
from .kernel import StepError, open_absolute, open_beneath
from .messages import ArtifactsAsked, BoxDescription
from .view import FOLDER
from .wire import send

COUNT_MAX = 100  # below what one message may carry of descriptors (SCM_MAX_FD, 253)
ENTRIES_MAX = 50_000
DEPTH_MAX = 32
SECONDS_MAX = 2.0
TOO_LARGE = "what may be handed back"


class TooMuchError(Exception):
    """Searching took more than it may."""


@dataclass(slots=True)
class Collected:
    """What matched, as open descriptors, and what matched but is not handed back, with why."""

    room: int  # bytes that may still be handed back
    found: list[tuple[str, int]] = field(default_factory=list)  # name, size
    fds: list[int] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def skip(self, name: str, reason: str) -> None:
        if len(self.skipped) < COUNT_MAX:
            self.skipped.append((name, reason))

    def take(self, top: int, path: str, name: str) -> None:
        """Open one match, if it is a regular file that fits."""
        if len(self.fds) == COUNT_MAX:
            self.skip(name, f"more than {COUNT_MAX} files")
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
        """Pack these entries of a folder, as far as they are there; without names all."""
        try:
            top = open_absolute(folder, FOLDER)
        except StepError:
            self.skip(folder, "the folder is missing, or a link lies on the way to it")
            return
        try:
            present = [name for name in os.listdir(top) if not names or name in names]
            fd = bundle.pack(top, bundle.walk(top, present), self.room)
        except bundle.TooLargeError:
            self.skip(folder, f"its bytes exceed {TOO_LARGE}")
        except (StepError, OSError) as error:
            self.skip(folder, str(error))
        else:
            self.fds.append(fd)
            self.found.append((folder, os.fstat(fd).st_size))
        finally:
            os.close(top)


def hand_over(control: socket.socket, cell: BoxDescription, run: ArtifactsAsked) -> None:
    """Pass the declared files on, open: nothing of the run is alive that could exchange them."""
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
    """Regular files that match a pattern: `*` within a name, `**` for any folders.

    A pattern is relative to `cwd` or, where nothing is there, to `scratch`; or it is absolute and
    then below one of them. Names are taken as they are found, so `..` matches nothing and no
    pattern leads elsewhere.
    """
    collected = Collected(bytes_max)
    deadline = time.monotonic() + SECONDS_MAX
    for pattern in patterns:
        base, rest = _split(pattern, cwd, scratch)
        if rest is None:
            collected.skip(pattern, f"lies neither below {cwd} nor below {scratch}")
            continue
        is_relative = not pattern.startswith("/")
        try:
            prefix = "" if base == cwd else f"{base}/"
            if not _search(base, rest, prefix, collected, deadline) and is_relative:
                _search(scratch, rest, "", collected, deadline)
        except TooMuchError:
            collected.skip(pattern, "there is too much to search through")
        except StepError:
            collected.skip(pattern, f"{base} is missing, or a link lies on the way to it")
    return collected


def _search(
    base: str, parts: list[str], prefix: str, collected: Collected, deadline: float
) -> bool:
    """Take what matches below a folder; whether anything did."""
    top = open_absolute(base, FOLDER)  # on which programs may have put links
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
    """The folder to search and the pattern's parts below it; None if it lies elsewhere."""
    if not pattern.startswith("/"):
        return cwd, [part for part in pattern.split("/") if part not in ("", ".")]
    for base in (cwd, scratch):
        if pattern.startswith(f"{base}/"):
            return base, [part for part in pattern[len(base) :].split("/") if part]
    return cwd, None


class _Search:
    """Walks below a folder as far as a pattern asks for, within bounds."""

    def __init__(self, top: int, deadline: float) -> None:
        self._top = top
        self._deadline = deadline
        self._seen = 0

    def matches(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Paths of entries that are no folders; links among them are for `take` to refuse."""
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
