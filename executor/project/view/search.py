"""What of a project calls for a guard, looked for again only in folders that have changed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from executor.errors import RequestError
from executor.project.view import installed_folders as installed
from policy import HiddenPaths
from policy.paths import lies_in
from policy.secrets import is_secret_path

ENTRIES_MAX = 2_000_000
SECONDS_MAX = 60.0
# The coarsest time stamps of folders in use: FAT's, of 2 s.
SETTLED_NS = 2_000_000_000
# Why a path can't be followed by whoever may enter every folder.
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


@dataclass(frozen=True, slots=True)
class _FoundFolder:
    """The paths that were found in one folder when its state was this."""

    state: tuple[int, int, int]
    folders: tuple[str, ...] = ()  # to be searched, too
    named: tuple[str, ...] = ()  # what bears a secret's name
    denied: tuple[str, ...] = ()  # what rules deny to read
    special: tuple[str, ...] = ()  # sockets, FIFOs, devices
    entries: int = 0


class ProjectSearch:
    """Searches one project again and again; any thread may ask.

    A folder is listed anew when its time of change differs, which no program can set back. So it is
    when that time is so recent that a later change could bear the same.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self._denied = HiddenPaths()
        self._private: frozenset[str] = frozenset()
        self._known: dict[str, _FoundFolder] = {}
        self._lock = threading.Lock()
        self._deadline = 0.0

    def deny(self, denied: HiddenPaths) -> None:
        """From now on, what these cover is secret too."""
        with self._lock:
            if denied != self._denied:
                self._denied = denied
                self._known = {}

    def hide(self, folders: Iterable[Path]) -> None:
        """From now on, these are secret as a whole where they lie in the project."""
        below = f"{self.project}/"
        found = (os.path.realpath(folder) for folder in folders)
        with self._lock:
            self._private |= {path for path in found if path.startswith(below)}
            self._known = {}

    def denies(self, path: str) -> bool:
        """Whether a rule keeps this path, of the project or not, from being read."""
        return self._denied.covers(path)

    def hides(self, path: str) -> bool:
        """Return whether programs are not shown a path of the project.

        Raises:
            RequestError: as in `secrets`.
        """
        return self.denies(path) or any(lies_in(path, secret) for secret in self.secrets())

    def secrets(self) -> tuple[str, ...]:
        """Absolute paths of secret files, of what rules deny, and of folders that can't be listed.

        A folder that is denied as a whole stands for all that is in it.

        Raises:
            RequestError: the project is too large to be searched, or can't be listed.
        """
        return self.find_hidden()[0]

    def find_hidden(self, *, everywhere: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same, and those of sockets, FIFOs and devices; `everywhere`, among packages too.

        Raises:
            RequestError: as in `secrets`.
        """
        with self._lock:
            named: list[str] = []
            denied = [*self._denied.literal]
            special: set[str] = set()
            for _, folder in self._search():
                named += folder.named
                denied += folder.denied
                special.update(folder.special)
        if everywhere:
            special |= set(self._find_special())
        # What a link leads to is the secret, whatever it is called.
        found = {*self._ends(named, stat.S_ISREG), *self._ends(denied, lambda _: True)}
        secret = sorted(path for path in found if path.startswith(f"{self.project}/"))
        return tuple(secret), tuple(sorted(special))

    def _find_special(self) -> Iterator[str]:
        """Find sockets, FIFOs and devices, among installed packages too.

        Raises:
            RequestError: there are too many entries, or it takes too long.
        """
        seen, ahead = 0, [str(self.project)]
        while ahead:
            with contextlib.suppress(OSError), os.scandir(ahead.pop()) as listing:
                for entry in listing:
                    seen += 1
                    self._check_time()
                    if entry.is_dir(follow_symlinks=False):
                        ahead.append(entry.path)
                    elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                        yield entry.path
            if seen > ENTRIES_MAX:
                raise _too_many()

    def _ends(self, paths: Iterable[str], is_kind: Callable[[int], bool]) -> Iterator[str]:
        """Where these lead, of what is there and of a kind.

        Raises:
            RequestError: it takes too long.
        """
        for path in paths:
            self._check_time()
            if (end := _end(path, is_kind)) is not None:
                yield end

    def _search(self) -> Iterator[tuple[str, _FoundFolder]]:
        """Every folder that is to be searched, by its path. What is gone is forgotten.

        Raises:
            RequestError: there are too many, it takes too long, or the topmost can't be listed.
        """
        met: dict[str, _FoundFolder] = {}
        begun = time.time_ns()
        self._deadline = time.monotonic() + SECONDS_MAX
        seen, ahead = 0, [str(self.project)]
        while ahead:
            if seen > ENTRIES_MAX:
                raise _too_many()
            path = ahead.pop()
            folder = self._look(path)
            seen += folder.entries
            met[path] = folder
            ahead += folder.folders
        # Settled when it was listed, not merely by now: a long search would forgive a late change.
        self._known = {p: f for p, f in met.items() if begun - f.state[2] > SETTLED_NS}
        return iter(met.items())

    def _look(self, path: str) -> _FoundFolder:
        try:
            info = os.lstat(path)
            state = info.st_dev, info.st_ino, info.st_ctime_ns
            known = self._known.get(path)
            return known if known and known.state == state else self._list_folder(path, state)
        except (FileNotFoundError, NotADirectoryError):
            return _FoundFolder((0, 0, time.time_ns()))
        except OSError as error:
            if path == str(self.project):
                raise RequestError(f"the project can't be listed: {error.strerror}") from error
            # A program could open what it closed before, so that nothing in it was found.
            return _FoundFolder((0, 0, time.time_ns()), denied=(path,))

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            count = len(self._denied.patterns)
            raise RequestError(
                f"the project was searched for {SECONDS_MAX:.0f} s for what is to be hidden, by "
                f"{count:,} patterns of rules, and that was not all of it",
                "open a folder further down as the project, or have fewer rules that deny to read",
            )

    def _list_folder(self, path: str, state: tuple[int, int, int]) -> _FoundFolder:
        folders, named, denied, special, entries = [], [], [], [], 0
        beside = path[len(str(self.project)) + 1 :]
        is_installed = installed.judge(path)
        with os.scandir(path) as listing:
            for entry in listing:
                entries += 1
                self._check_time()
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.path in self._private or self._denied.covers(entry.path):
                    denied.append(entry.path)
                elif not (is_folder or entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                    special.append(entry.path)
                elif not is_folder and is_secret_path(f"{beside}/{entry.name}"):
                    named.append(entry.path)
                elif is_folder and not (is_installed and is_installed(entry.name)):
                    folders.append(entry.path)
        return _FoundFolder(
            state, tuple(folders), tuple(named), tuple(denied), tuple(special), entries
        )


def _too_many() -> RequestError:
    return RequestError(
        f"over {ENTRIES_MAX:,} entries of the project would have to be searched for secrets",
        "open a folder further down as the project",
    )


def is_special(path: str) -> bool:
    """Whether a path is a socket, FIFO or device; a link is none."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _end(path: str, is_kind: Callable[[int], bool]) -> str | None:
    """Where a path leads, if that is of a kind, or may be: a program might open up what is closed.

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
