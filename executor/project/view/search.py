"""The folders of a project and what of it calls for a guard: read again only where one has changed.

A folder is listed anew when its time of change differs, which no program can set back. So it is
when that time is so recent that a later change could bear the same.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from base.secrets import is_secret_path
from executor.model import RequestError
from executor.project.view.record import (
    ENTRIES_MAX,
    PLAIN,
    SETTLED_NS,
    EntryState,
    state_of,
    too_many_entries,
)
from policy import HiddenPaths, lies_in

SECONDS_MAX = 60.0
_UNLISTED = EntryState(0, 0, 0, sys.maxsize, 0)  # of a time that is never settled
# Why a path can't be followed by whoever may enter every folder.
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# Of a repository: what git keeps by digests, and by the names of branches.
_GIT_PARTS = frozenset({"objects", "refs", "logs", "lfs", "annex", "modules"})
_DISTRIBUTION = (".dist-info", ".egg-info", ".libs", ".data")
_MANIFEST_BYTES_MAX = 64 * 1024
# Nobody can publish such a package: it is somebody's project.
_PRIVATE = re.compile(rb'"private"\s*:\s*true')


class Folder(NamedTuple):
    """A folder as it was, of which kind (`stat.S_IFMT`) each entry was, and what was found in it.

    Paths are relative to the project. One that can't be listed has a state of mode 0.
    """

    state: EntryState
    device: int
    kinds: dict[str, int]
    inner: list[str]  # folders to be looked through, too
    installed: list[str]  # folders that are not searched for secrets
    named: list[str]  # what bears a secret's name
    denied: list[str]  # what rules deny to read, and what can't be listed
    special: list[str]  # sockets, FIFOs, devices

    def is_same(self, info: os.stat_result) -> bool:
        """Return whether this is the folder that was listed, whatever is in it by now."""
        return (info.st_dev, info.st_ino) == (self.device, self.state.inode)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Paths relative to the project that a run does not see, and the folders that were looked at.

    `secrets`, files by their names and what rules deny to read, are covered. `special`, sockets,
    FIFOs and devices, are absent from a view and covered elsewhere.
    """

    secrets: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    folders: Mapping[str, Folder] = field(default_factory=dict, compare=False, repr=False)

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.secrets, *self.special)


class ProjectSearch:
    """Looks through one project again and again; any thread may ask."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._top = str(project)
        self._denied = HiddenPaths()
        self._private: frozenset[str] = frozenset()
        # What is installed is apart, as most looks pass it over.
        self._known: dict[bool, Mapping[str, Folder]] = {}
        self._lock = threading.Lock()
        self._deadline = 0.0

    def deny(self, denied: HiddenPaths) -> None:
        """Have what these cover be secret from now on, too."""
        with self._lock:
            if denied != self._denied:
                self._denied = denied
                self._known = {}

    def hide(self, folders: Iterable[Path]) -> None:
        """Have these be secret as a whole from now on, where they lie in the project."""
        below = f"{self.project}/"
        found = (os.path.realpath(folder) for folder in folders)
        with self._lock:
            self._private |= {path for path in found if path.startswith(below)}
            self._known = {}

    def denies(self, path: str) -> bool:
        """Return whether a rule keeps this path, of the project or not, from being read."""
        return self._denied.covers(path)

    def hides(self, path: str) -> bool:
        """Return whether programs are not shown a path of the project.

        Raises:
            RequestError: as in `look`.
        """
        return self.denies(path) or any(
            lies_in(path, self._absolute(secret)) for secret in self.look().secrets
        )

    def find_guarded(self, sockets: Collection[str] = (), *, everywhere: bool = False) -> Guarded:
        """Find what to hide of this project; `sockets` are shown all the same.

        Special files among installed packages no view shows; with `everywhere` they are found, too.

        Raises:
            RequestError: as in `look`.
        """
        found = self.look(everywhere=everywhere)
        hidden = {*sockets, *found.secrets}
        return Guarded(found.secrets, tuple(p for p in found.special if p not in hidden))

    def identities(self) -> tuple[tuple[str, int, int], ...]:
        """Return what tells the guarded files from others that take their names."""
        known = []
        for name in self.find_guarded().paths:
            with contextlib.suppress(OSError):
                info = os.lstat(self.project / name)
                known.append((name, info.st_dev, info.st_ino))
        return tuple(known)

    def look(self, *, everywhere: bool = False) -> Guarded:
        """Find folders, secrets, and sockets, FIFOs and devices; `everywhere`, in packages too.

        Secrets are files by their names, what rules deny, and folders that can't be listed. A
        folder that is denied as a whole stands for all that is in it.

        Raises:
            RequestError: the project is too large to be searched, or can't be listed.
        """
        with self._lock:
            self._deadline = time.monotonic() + SECONDS_MAX
            folders = self._walk([""], is_installed=False)
            if everywhere:
                ahead = [path for folder in folders.values() for path in folder.installed]
                seen = sum(len(folder.kinds) for folder in folders.values())
                folders |= self._walk(ahead, is_installed=True, seen=seen)
            literal = self._denied.literal
        named: list[str] = []
        denied: list[str] = []
        special: list[str] = []
        for folder in folders.values():
            named += folder.named
            denied += folder.denied
            special += folder.special
        # What a link leads to is the secret, whatever it is called.
        found = {*self._ends(map(self._absolute, named), stat.S_ISREG)}
        found |= {*self._ends([*map(self._absolute, denied), *literal], lambda _: True)}
        below = f"{self.project}/"
        secrets = sorted(path[len(below) :] for path in found if path.startswith(below))
        return Guarded(tuple(secrets), tuple(sorted(special)), folders)

    def _absolute(self, path: str) -> str:
        return f"{self._top}/{path}" if path else self._top

    def _ends(self, paths: Iterable[str], is_kind: Callable[[int], bool]) -> Iterator[str]:
        """Return where these lead, of what is there and of a kind.

        Raises:
            RequestError: it takes too long.
        """
        for path in paths:
            self._check_time()
            if (end := _end(path, is_kind)) is not None:
                yield end

    def _walk(self, ahead: list[str], *, is_installed: bool, seen: int = 0) -> dict[str, Folder]:
        """Every folder at these paths and below. What is gone is forgotten.

        Raises:
            RequestError: there are too many, it takes too long, or the topmost can't be listed.
        """
        known, began = self._known.get(is_installed, {}), time.time_ns()
        met: dict[str, Folder] = {}
        while ahead:
            path = ahead.pop()
            folder = met[path] = self._look_at(path, known.get(path), is_installed=is_installed)
            seen += len(folder.kinds)
            if seen > ENTRIES_MAX:
                raise too_many_entries()
            ahead += folder.inner
        # Settled when it was listed, not merely by now: a long look would forgive a late change.
        last = began - SETTLED_NS
        self._known[is_installed] = {p: f for p, f in met.items() if f.state.ctime_ns < last}
        return met

    def _look_at(self, path: str, known: Folder | None, *, is_installed: bool) -> Folder:
        at = f"{self._top}/{path}".rstrip("/")
        try:
            info = os.lstat(at)
            if known and known.state.ctime_ns == info.st_ctime_ns and known.is_same(info):
                return known
            if stat.S_ISDIR(info.st_mode):
                return self._list(path, at, info, is_installed=is_installed)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            if not path:
                raise RequestError(f"the project can't be listed: {error.strerror}") from error
            # A program could open what it closed before, so that nothing in it was found.
            return Folder(_UNLISTED, 0, {}, [], [], [], [path], [])
        return Folder(_UNLISTED, 0, {}, [], [], [], [], [])

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            count = len(self._denied.patterns)
            raise RequestError(
                f"the project was searched for {SECONDS_MAX:.0f} s for what is to be hidden, by "
                f"{count:,} patterns of rules, and that was not all of it",
                "open a folder further down as the project, or have fewer rules that deny to read",
            )

    def _list(self, path: str, at: str, info: os.stat_result, *, is_installed: bool) -> Folder:
        found = Folder(state_of(info), info.st_dev, {}, [], [], [], [], [])
        prefix = f"{path}/" if path else ""
        judge = None if is_installed else _judge_installed(at)
        with os.scandir(at) as listing:
            for entry in listing:
                self._check_time()
                kind = found.kinds[entry.name] = _kind(entry)
                inside = prefix + entry.name
                is_denied = entry.path in self._private or self._denied.covers(entry.path)
                if is_denied and not is_installed:
                    found.denied.append(inside)
                elif kind == stat.S_IFDIR:
                    is_others = judge is not None and judge(entry.name)
                    (found.installed if is_others else found.inner).append(inside)
                elif kind not in PLAIN:
                    found.special.append(inside)
                elif not is_installed and is_secret_path(inside):
                    found.named.append(inside)
        return found


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    return stat.S_IFLNK if entry.is_symlink() else 0


def _end(path: str, is_kind: Callable[[int], bool]) -> str | None:
    """Return where a path leads, if that is of a kind, or may be: programs might open what is shut.

    The kernel follows the links: what leads in a circle, or on through more than it follows,
    leads nowhere for anybody.
    """
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        return None if error.errno in _NOWHERE else os.path.realpath(path)
    try:
        there = is_kind(os.fstat(place).st_mode)
        return os.readlink(f"/proc/self/fd/{place}") if there else None
    finally:
        os.close(place)


def _judge_installed(folder: str) -> Callable[[str], bool] | None:
    """Return a test whether a name in a folder is installed; None where nothing can be.

    Below node_modules and its like that is large, and not the project's: it is not searched. What
    anybody moved beside it is the project's own, so that something has to vouch for a folder.
    """
    above, name = os.path.split(folder)
    if name == ".git":
        return _GIT_PARTS.__contains__
    if name in ("site-packages", "dist-packages"):
        return lambda entry: _is_distribution(f"{folder}/{entry}")
    is_below_modules = os.path.basename(above) == "node_modules"
    if name == ".pnpm" and is_below_modules:
        return lambda entry: os.path.isdir(f"{folder}/{entry}/node_modules")
    if name == "node_modules" or (name.startswith("@") and is_below_modules):
        return lambda entry: _is_package(f"{folder}/{entry}/package.json")
    return None


def _is_distribution(path: str) -> bool:
    return path.endswith(_DISTRIBUTION) or os.path.isfile(f"{path}/__init__.py")


def _is_package(manifest: str) -> bool:
    """Return whether a package's manifest is a plain file, and not a private one's."""
    try:
        file = os.open(manifest, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _PRIVATE.search(os.read(file, _MANIFEST_BYTES_MAX)) is None
    except OSError:  # a folder, a FIFO nobody writes
        return False
    finally:
        os.close(file)
