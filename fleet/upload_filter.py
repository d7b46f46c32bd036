"""The entries of a project that are sent to other machines, and those that stay here.

All entries are listed before any is read, so that a project over a limit is reported at once.
"""

from __future__ import annotations

import functools
import itertools
import os
import stat
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from base.secrets import is_secret_path
from executor import GIB, MIB, RequestError
from executor.project.view import (
    COPY_BYTES_MAX,
    COPY_ENTRIES_MAX,
    EntryState,
    ProjectSearch,
    state_of,
    walk,
)
from fleet.tree import Entry

BYTES_MAX_CEILING: Final = 4 * GIB
LARGEST_SHOWN = 5
LEAVE_OUT: Final = (".git", "node_modules", ".venv", "target", "__pycache__")

# Reasons why something is not sent. For a file with a token or private key, its kind is the reason.
SECRET: Final = "secret"  # noqa: S105 - by its name, or a rule denies to read it
BY_SETTING: Final = "leave_out"
SPECIAL: Final = "special"  # a socket, FIFO or device
CLOSED: Final = "closed"  # this user cannot read it, or it is too deep

# Checked for every file each time, also in installed packages: a third of a look's time.
_is_secret_path = functools.lru_cache(maxsize=1 << 16)(is_secret_path)


class StaysHereError(Exception):
    """A project that only this machine can hold: its runs stay here. The message says why."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of sending: names of folders that stay, at any depth, and limits of the total."""

    leave_out: Collection[str] = LEAVE_OUT
    bytes_max: int = COPY_BYTES_MAX
    entries_max: int = COPY_ENTRIES_MAX

    def __post_init__(self) -> None:
        """Check the limit that every engine supports.

        Raises:
            ValueError: it is over 4 GiB.
        """
        if not 0 < self.bytes_max <= BYTES_MAX_CEILING:
            raise ValueError(f"bytes_max is at most {BYTES_MAX_CEILING // GIB} GiB")


@dataclass(slots=True)
class Look:
    """The result of a look at a project."""

    files: dict[str, EntryState] = field(default_factory=dict)  # by path, as when listed
    others: list[Entry] = field(default_factory=list)  # folders and links
    left_out: dict[str, str] = field(default_factory=dict)  # reasons by path
    sizes: Counter[str] = field(default_factory=Counter)  # bytes by folder, up to two deep
    entries: int = 0
    size_bytes: int = 0


class Guard:
    """The secret entries of a project, by path, and by inode whatever their name."""

    def __init__(self, search: ProjectSearch) -> None:
        """Search now.

        Raises:
            RequestError: the project is too large to search.
        """
        self._search = search
        secrets = search.look().secrets
        self._paths = {*secrets}
        self._inodes = set()
        self._folders: list[str] = []
        for path in (f"{search.project}/{one}" for one in secrets):
            try:
                info = os.stat(path, follow_symlinks=False)
            except OSError:  # gone, or never there
                continue
            self._inodes.add((info.st_dev, info.st_ino))
            if stat.S_ISDIR(info.st_mode):
                self._folders.append(path)

    def keeps(self, path: str, info: os.stat_result) -> bool:
        """Return whether an entry stays; folders that stay are not entered."""
        if path in self._paths or (info.st_dev, info.st_ino) in self._inodes:
            return True
        if stat.S_ISREG(info.st_mode) and (_is_secret_path(path) or self._is_below(info)):
            return True
        return self._search.denies(f"{self._search.project}/{path}")

    def _is_below(self, info: os.stat_result) -> bool:
        """Return whether a file has another name, in a folder that is secret as a whole."""
        if info.st_nlink == 1 or not self._folders:
            return False
        return self._below is None or (info.st_dev, info.st_ino) in self._below

    @functools.cached_property
    def _below(self) -> frozenset[tuple[int, int]] | None:
        return _several_names(self._folders)


def _several_names(folders: list[str]) -> frozenset[tuple[int, int]] | None:
    """Return the files in folders that have several names; None if the search takes too long."""
    found, seen = set(), 0
    for above, _, names in itertools.chain.from_iterable(map(os.walk, folders)):
        seen += 1 + len(names)
        if seen > COPY_ENTRIES_MAX:
            return None
        for name in names:
            try:
                info = os.stat(f"{above}/{name}", follow_symlinks=False)
            except OSError:  # removed in the meantime
                continue
            if info.st_nlink > 1:
                found.add((info.st_dev, info.st_ino))
    return frozenset(found)


def look_at(top: int, guard: Guard, terms: Terms) -> Look:
    """List every entry that may be sent, reached through no link, and those that stay.

    Raises:
        RequestError: the project is too large.
    """
    look = Look()
    enters: set[str] = set()

    def close(path: str) -> None:
        look.left_out[path] = CLOSED
        enters.discard(path)

    for prefix, descriptor, entries in walk(top, enters.__contains__, close):
        for entry in entries:
            path = prefix + entry.name
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:  # removed in the meantime
                continue
            if reason := _why_left_out(path, entry.name, info, guard, terms):
                look.left_out[path] = reason
            elif stat.S_ISDIR(info.st_mode):
                enters.add(path)
            else:
                _see(look, path, descriptor, info, terms)
    look.others += map(Entry, sorted(enters))
    look.entries += len(enters)
    if look.entries > terms.entries_max or look.size_bytes > terms.bytes_max:
        raise _too_large(look, terms)
    return look


def _why_left_out(path: str, name: str, info: os.stat_result, guard: Guard, terms: Terms) -> str:
    if stat.S_ISDIR(info.st_mode) and name in terms.leave_out:
        return BY_SETTING
    if guard.keeps(path, info):
        return SECRET
    plain = stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)
    return "" if plain else SPECIAL


def _see(look: Look, path: str, descriptor: int, info: os.stat_result, terms: Terms) -> None:
    """Count a file or link, and add it unless the project is too large anyway."""
    look.entries += 1
    if stat.S_ISLNK(info.st_mode):
        try:
            target = os.readlink(os.path.basename(path), dir_fd=descriptor)
        except OSError:  # replaced or removed
            return
        look.others.append(Entry(path, target=target))
        return
    look.size_bytes += info.st_size
    above = path.split("/")[:-1][:2] or ["."]
    for n in range(len(above)):
        look.sizes["/".join(above[: n + 1])] += info.st_size
    if look.entries <= terms.entries_max and look.size_bytes <= terms.bytes_max:
        look.files[path] = state_of(info)


def _too_large(look: Look, terms: Terms) -> RequestError:
    largest = ", ".join(
        f"{folder} {size / MIB:,.0f} MiB" for folder, size in look.sizes.most_common(LARGEST_SHOWN)
    )
    return RequestError(
        f"the project is too large to send: {look.entries:,} entries of {look.size_bytes:,} "
        f"bytes; the limits are {terms.entries_max:,} and {terms.bytes_max:,}",
        f"Add folders that runs do not need to cluster.leave_out. The largest are: {largest}.",
    )
