"""The folders of a project, with their secrets and special files: read again only if changed.

A folder is listed again if its time of change differs, which no program can set back. So is one
whose time is so recent that a later change could have the same one.
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
from base.wording import inflect
from executor.model import RequestError
from executor.project.view.record import ENTRIES_MAX, PLAIN, SETTLED_NS, too_many_entries
from executor.project.view.tree import EntryState, state_of
from policy import HiddenPaths, lies_in

SECONDS_MAX = 60.0
_UNLISTED = EntryState(0, 0, 0, sys.maxsize, 0)  # with a time that never counts as settled
# Reasons why not even a user who may enter every folder can follow a path.
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
# In a repository: files that git names by digests or branches.
_GIT_PARTS = frozenset({"objects", "refs", "logs", "lfs", "annex", "modules"})
_DISTRIBUTION = (".dist-info", ".egg-info", ".libs", ".data")
_MANIFEST_BYTES_MAX = 64 * 1024
# Such a package can't be published: it is the user's project.
_PRIVATE = re.compile(rb'"private"\s*:\s*true')


class Folder(NamedTuple):
    """A listed folder: its state, the kind (`stat.S_IFMT`) of each entry, and the paths found.

    Paths are relative to the project. A folder that can't be listed has a state of mode 0.
    """

    state: EntryState
    device: int
    kinds: dict[str, int]
    inner: list[str]  # folders to search, too
    installed: list[str]  # folders that are not searched for secrets
    named: list[str]  # paths with a secret's name
    denied: list[str]  # paths that rules deny to read, and folders that can't be listed
    special: list[str]  # sockets, FIFOs, devices

    def is_same(self, info: os.stat_result) -> bool:
        """Return whether this is the folder that was listed, even if its entries changed."""
        return (info.st_dev, info.st_ino) == (self.device, self.state.inode)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Paths relative to the project that a run does not see, and the folders searched.

    `secrets` (files with secret names, and paths that rules deny to read) are covered. `special`
    (sockets, FIFOs and devices) are absent from a view and covered elsewhere.
    """

    secrets: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    folders: Mapping[str, Folder] = field(default_factory=dict, compare=False, repr=False)

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.secrets, *self.special)


class ProjectSearch:
    """Searches one project repeatedly; any thread may ask."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._top = str(project)
        self._denied = HiddenPaths()
        self._private: frozenset[str] = frozenset()
        # Installed packages are separate, because most searches skip them.
        self._known: dict[bool, Mapping[str, Folder]] = {}
        self._lock = threading.Lock()
        self._deadline = 0.0

    def deny(self, denied: HiddenPaths) -> None:
        """Treat the paths that these cover as secret from now on."""
        with self._lock:
            if denied != self._denied:
                self._denied = denied
                self._known = {}

    def hide(self, folders: Iterable[Path]) -> None:
        """Treat these whole folders as secret from now on, if they are in the project."""
        below = f"{self.project}/"
        found = (os.path.realpath(folder) for folder in folders)
        with self._lock:
            self._private |= {path for path in found if path.startswith(below)}
            self._known = {}

    def denies(self, path: str) -> bool:
        """Return whether a rule denies to read this path, in the project or not."""
        return self._denied.covers(path)

    def hides(self, path: str) -> bool:
        """Return whether programs do not see a path of the project.

        Raises:
            RequestError: as in `look`.
        """
        return self.denies(path) or any(
            lies_in(path, self._absolute(secret)) for secret in self.look().secrets
        )

    def find_guarded(self, sockets: Collection[str] = (), *, everywhere: bool = False) -> Guarded:
        """Find the paths to hide in this project; `sockets` are shown nevertheless.

        Special files in installed packages are found only with `everywhere`; no view shows them.

        Raises:
            RequestError: as in `look`.
        """
        found = self.look(everywhere=everywhere)
        hidden = {*sockets, *found.secrets}
        return Guarded(found.secrets, tuple(p for p in found.special if p not in hidden))

    def identities(self) -> tuple[tuple[str, int, int], ...]:
        """Return identities that distinguish the guarded files from others with their names."""
        known = []
        for name in self.find_guarded().paths:
            with contextlib.suppress(OSError):
                info = os.lstat(self.project / name)
                known.append((name, info.st_dev, info.st_ino))
        return tuple(known)

    def look(self, *, everywhere: bool = False) -> Guarded:
        """Find folders, secrets, and sockets, FIFOs and devices; `everywhere`: in packages, too.

        Secrets are files with secret names, denied paths, and folders that can't be listed. A
        folder that is denied as a whole represents all its contents.

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
        # The target of a link is the secret, whatever its name is.
        found = {*self._ends(map(self._absolute, named), stat.S_ISREG)}
        found |= {*self._ends([*map(self._absolute, denied), *literal], lambda _: True)}
        below = f"{self.project}/"
        secrets = sorted(path[len(below) :] for path in found if path.startswith(below))
        return Guarded(tuple(secrets), tuple(sorted(special)), folders)

    def _absolute(self, path: str) -> str:
        return f"{self._top}/{path}" if path else self._top

    def _ends(self, paths: Iterable[str], is_kind: Callable[[int], bool]) -> Iterator[str]:
        """Yield the real paths of those that exist and are of a kind.

        Raises:
            RequestError: it takes too long.
        """
        for path in paths:
            self._check_time()
            if (end := _end(path, is_kind)) is not None:
                yield end

    def _walk(self, ahead: list[str], *, is_installed: bool, seen: int = 0) -> dict[str, Folder]:
        """Return every folder at these paths and below; forget those that are gone.

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
        # Settled at the time of listing, not just now: a long search would miss a late change.
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
                raise RequestError(f"cannot list the project: {error.strerror}") from error
            # Hide the folder: a program could open one that it closed before this search.
            return Folder(_UNLISTED, 0, {}, [], [], [], [path], [])
        return Folder(_UNLISTED, 0, {}, [], [], [], [], [])

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise RequestError(
                f"the search for files to hide did not finish in {SECONDS_MAX:.0f} s, with "
                f"{inflect(len(self._denied.patterns), 'pattern')} of rules",
                "Open a subfolder as the project, or use fewer rules that deny reading.",
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
    """Return a path's target, if it is of a kind or can't be checked: programs might open it.

    The kernel follows the links: a path with a circle, or with more links than the kernel
    follows, can't be opened by anyone.
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
    """Return a test whether a name in a folder is an installed package; None if none can be.

    Folders such as node_modules are large, and not the project's: they are not searched. But a
    folder that a user moved there is the project's own, so the test needs proof of a package.
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
    """Return whether a package's manifest is a plain file, and not private."""
    try:
        file = os.open(manifest, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _PRIVATE.search(os.read(file, _MANIFEST_BYTES_MAX)) is None
    except OSError:  # a folder, or a FIFO without a writer
        return False
    finally:
        os.close(file)
