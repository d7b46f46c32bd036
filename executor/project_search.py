"""What of a project calls for a guard, looked for again only in folders that have changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from policy import HiddenPaths
from policy.secrets import is_secret_name

# Installed packages and version control: large, and what lies there is not the project's own.
NOT_SEARCHED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
ENTRIES_MAX = 200_000
# The coarsest time stamps of folders in use: FAT's, of 2 s.
SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Folder:
    """The paths that were found in one folder when its state was this."""

    state: tuple[int, int, int]
    folders: tuple[str, ...] = ()  # to be searched, too
    named: tuple[str, ...] = ()  # what bears a secret's name
    denied: tuple[str, ...] = ()  # what rules deny to read
    has_git: bool = False
    entries: int = 0


class ProjectSearch:
    """Searches one project again and again; any thread may ask.

    A folder is listed anew when its time of change tells so, which no program can set back, or
    when it is so recent that a later change could bear the same.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self._denied = HiddenPaths()
        self._known: dict[str, _Folder] = {}
        self._lock = threading.Lock()

    def deny(self, denied: HiddenPaths) -> None:
        """From now on, what these cover is secret too."""
        with self._lock:
            if denied != self._denied:
                self._denied = denied
                self._known = {}

    def denies(self, path: str) -> bool:
        """Whether a rule keeps this path, of the project or not, from being read."""
        return self._denied.covers(path)

    def secrets(self) -> tuple[str, ...]:
        """Absolute paths of secret files, and of what rules deny, as far as the search may go.

        A folder that is denied as a whole stands for all that is in it.
        """
        with self._lock:
            named: list[str] = []
            denied = [*self._denied.literal]
            for _, folder in self._search():
                named += folder.named
                denied += folder.denied
        # What a link leads to is the secret, whatever it is called.
        found = {path for path in map(os.path.realpath, named) if os.path.isfile(path)}
        found |= {path for path in map(os.path.realpath, denied) if os.path.exists(path)}
        return tuple(sorted(path for path in found if path.startswith(f"{self.project}/")))

    def repositories(self) -> tuple[str, ...]:
        """The `.git` of every repository below the project's top, relative to it."""
        with self._lock:
            homes = [folder for folder, known in self._search() if known.has_git]
        inner = (os.path.relpath(folder, self.project) for folder in sorted(homes))
        return tuple(os.path.join(folder, ".git") for folder in inner if folder != ".")

    def _search(self) -> Iterator[tuple[str, _Folder]]:
        """Every folder that is to be searched, by its path. What is gone is forgotten."""
        met: dict[str, _Folder] = {}
        begun = time.time_ns()
        seen, ahead = 0, [str(self.project)]
        while ahead and seen <= ENTRIES_MAX:
            path = ahead.pop()
            folder = self._look(path)
            seen += folder.entries
            met[path] = folder
            ahead += folder.folders
        # Settled when it was listed, not merely by now: a long search would forgive a late change.
        self._known = {p: f for p, f in met.items() if begun - f.state[2] > SETTLED_NS}
        return iter(met.items())

    def _look(self, path: str) -> _Folder:
        try:
            info = os.lstat(path)
            state = info.st_dev, info.st_ino, info.st_ctime_ns
            known = self._known.get(path)
            return known if known and known.state == state else self._listed(path, state)
        except OSError:
            return _Folder((0, 0, time.time_ns()))  # what we can't list, no program can

    def _listed(self, path: str, state: tuple[int, int, int]) -> _Folder:
        folders, named, denied, entries, has_git = [], [], [], 0, False
        with os.scandir(path) as listing:
            for entry in listing:
                entries += 1
                has_git = has_git or entry.name == ".git"
                is_folder = entry.is_dir(follow_symlinks=False)
                if self._denied.covers(entry.path):
                    denied.append(entry.path)
                elif not is_folder and is_secret_name(entry.name):
                    named.append(entry.path)
                elif is_folder and entry.name not in NOT_SEARCHED:
                    folders.append(entry.path)
        return _Folder(state, tuple(folders), tuple(named), tuple(denied), has_git, entries)
