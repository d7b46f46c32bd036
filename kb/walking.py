"""Selection of the files of a folder; every skipped file is recorded with its reason."""

from __future__ import annotations

import os
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from kb import ignoring
from kb.ignoring import Ignores, above, list_ignored

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are rarely written by people; index one individually if needed."""

_ALWAYS_LEFT_OUT = {
    ".git": "repository's folder",
    ".hg": "repository's folder",
    ".svn": "repository's folder",
    "__pycache__": "Python's cache",
    "node_modules": "installed packages",
}
"""Names, and what is in them."""

_GIT = ".git"
"""In a submodule or a linked working tree it is a file that names the repository."""


class Why(Enum):
    """The kind of reason for skipping a path; `Skipped` also has it as a text."""

    ALWAYS = "always"
    """A repository's own folder, installed packages."""
    EXCLUDED = "excluded"
    IGNORED = "ignored"
    NOT_ALLOWED = "not allowed"
    LINK = "link"
    NAME = "name"
    """It is not UTF-8."""
    SPECIAL = "special"
    """A FIFO, a socket, a device."""
    TOO_LARGE = "too large"
    TOO_DEEP = "too deep"
    MET = "met"
    """The same folder was found by another path."""
    UNREADABLE = "unreadable"
    BINARY = "binary"
    IGNORE_FILE = "ignore file"
    """The path is an ignore file with unused lines: the file itself is not skipped."""


Skipped = tuple[str, str, Why]
"""A path that was not indexed, relative to the root, the reason, and its kind."""

_Reason = tuple[Why, str]

_CLOCK_EVERY = 64
"""Entries between two checks of the clock; the first of each folder is one, too."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of files of a folder.

    Patterns are globs over relative paths, or over names alone if they have no slash
    (`kb.ignoring`).

    Raises:
        GlobError: a pattern is malformed, or no path could match it.
    """

    include: Sequence[str] = ()  # patterns
    exclude: Sequence[str] = ()  # patterns
    extensions: frozenset[str] = frozenset()
    max_depth: int | None = None
    max_file_bytes: int = MAX_FILE_BYTES
    respect_gitignore: bool = True
    follow_symlinks: bool = False
    allowed: Callable[[Path], str | None] | None = None  # why a path may not be read, or None

    def __post_init__(self) -> None:
        for glob in (*self.include, *self.exclude):
            ignoring.compile_glob(glob)


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """A path below the root, and its status."""

    path: Path
    relative: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


_PendingFolder = tuple[str, Ignores, frozenset[str] | None]
"""A folder to read: its path below the root, what is ignored around it, and the entries to read;
None for all."""


@dataclass(slots=True)
class Walk:
    """One pass over the selected files below `root`, folder by folder, by name.

    A link out of `root` is never followed, and no folder read twice. A file found through a link is
    judged by the target's path, too.
    """

    root: Path
    selection: Selection
    only: Collection[Path] | None = None  # these, and everything below them
    until: float = float("inf")  # a time of the monotonic clock
    skipped: list[Skipped] = field(default_factory=list)  # fills as it goes
    ignored: set[Path] = field(default_factory=set)
    """The files and folders that git would ignore, of those that the pass found."""
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _listed: dict[Path, frozenset[str] | None] = field(default_factory=dict)
    """The paths that git ignores in the working trees found; None if that is unknown."""

    def files(self) -> Iterator[WalkEntry]:
        """Yield the selected regular files.

        Raises:
            TimeoutError: the pass did not end in time.
        """
        steps = None if self.only is None else _steps(self.root, self.only)
        ignores = above(self.root) if self.selection.respect_gitignore else Ignores()
        waiting: list[_PendingFolder] = [("", ignores, _names(steps, self.root))]
        while waiting:
            relative, ignores, names = waiting.pop()
            folder = self.root / relative
            if self.selection.respect_gitignore:
                ignores = self._find_ignores(ignores, folder)
                for problem in ignores.problems(folder):
                    self.skip(folder / ".gitignore", problem, Why.IGNORE_FILE)
            below: list[_PendingFolder] = []
            for entry in self._entries(folder, relative, names):
                if not self._is_meant(entry, ignores, entry.relative.count("/")):
                    continue
                if entry.is_folder:
                    part = None if names is None else _names(steps, entry.path)
                    below.append((entry.relative, ignores, part))
                else:
                    yield entry
            waiting.extend(reversed(below))

    def _find_ignores(self, outer: Ignores, folder: Path) -> Ignores:
        """Return what is ignored in a folder; git itself answers for its working trees."""
        if not os.path.lexists(folder / _GIT):
            return outer.within(folder)
        if folder not in self._listed:
            self._listed[folder] = list_ignored(folder, self.until - time.monotonic())
        listed = self._listed[folder]
        return Ignores(outer.files).within(folder) if listed is None else Ignores(listed=listed)

    def skip(self, path: Path, reason: str, why: Why) -> None:
        relative = os.fsencode(path.relative_to(self.root))
        self.skipped.append((relative.decode("utf-8", "backslashreplace"), reason, why))

    def _entries(
        self, folder: Path, relative: str, names: frozenset[str] | None
    ) -> Iterator[WalkEntry]:
        try:
            listed = sorted(os.listdir(folder) if names is None else names)
        except OSError as error:
            self.skip(folder, f"unreadable: {error.strerror}", Why.UNREADABLE)
            return
        for at, name in enumerate(listed):
            if at % _CLOCK_EVERY == 0 and time.monotonic() > self.until:
                raise TimeoutError(f"{self.root} was not listed in time")
            path = folder / name
            if not is_utf8(name):
                self.skip(path, "a name that is not UTF-8", Why.NAME)
                continue
            if names is not None and not os.path.lexists(path):
                continue  # requested because it is gone
            entry = self._entry(path, f"{relative}/{name}" if relative else name)
            if entry is not None:
                yield entry

    def _entry(self, path: Path, relative: str) -> WalkEntry | None:
        """Return the path with its status; None for one that cannot or must not be followed."""
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                if not self.selection.follow_symlinks:
                    self.skip(path, "a symbolic link", Why.LINK)
                    return None
                if not path.resolve(strict=True).is_relative_to(self.root):
                    self.skip(path, "a symbolic link to a path outside the folder", Why.LINK)
                    return None
                status = path.stat()
            return WalkEntry(path, relative, status)
        except OSError as error:
            self.skip(path, f"unreadable: {error.strerror}", Why.UNREADABLE)
        except RuntimeError:
            text = "unreadable: its links form a circle, or are too many"
            self.skip(path, text, Why.UNREADABLE)
        return None

    def _is_meant(self, entry: WalkEntry, ignores: Ignores, depth: int) -> bool:
        """Return whether the entry is selected; if not, record the reason, except for files that
        `include` and `extensions` simply do not name."""
        if not entry.is_folder and not self._is_named(entry):
            return False
        reason = self._general_reason(entry, ignores)
        if reason is None and entry.is_folder:
            reason = self._folder_reason(entry, depth)
        elif reason is None:
            reason = self._file_reason(entry)
        if reason is not None:
            why, text = reason
            self.skip(entry.path, text, why)
        return reason is None

    def _is_named(self, entry: WalkEntry) -> bool:
        include, extensions = self.selection.include, self.selection.extensions
        if include and not any(ignoring.fits(glob, entry.relative) for glob in include):
            return False
        return not extensions or entry.path.suffix.lstrip(".").lower() in extensions

    def _general_reason(self, entry: WalkEntry, ignores: Ignores) -> _Reason | None:
        exclude = self.selection.exclude
        if any(ignoring.fits(glob, entry.relative) for glob in exclude):
            return Why.EXCLUDED, "excluded"
        if ignores.match(str(entry.path), is_folder=entry.is_folder):
            self.ignored.add(entry.path)
            return Why.IGNORED, "ignored by .gitignore"
        if what := _always_left_out(entry.path.name, is_folder=entry.is_folder):
            return Why.ALWAYS, what
        refused = self.selection.allowed(entry.path) if self.selection.allowed else None
        if refused is not None:
            return Why.NOT_ALLOWED, refused
        return self._find_target_reason(entry) if self.selection.follow_symlinks else None

    def _find_target_reason(self, entry: WalkEntry) -> _Reason | None:
        """Return why the target of a link, or a folder on the way to it, would be skipped."""
        real = entry.path.resolve()
        if real == entry.path:
            return None
        ignores = above(self.root) if self.selection.respect_gitignore else Ignores()
        folder = self.root
        for name in real.relative_to(self.root).parts:
            if self.selection.respect_gitignore:
                ignores = self._find_ignores(ignores, folder)
            folder /= name
            is_folder = folder != real or entry.is_folder
            relative = folder.relative_to(self.root).as_posix()
            if what := _always_left_out(name, is_folder=is_folder):
                return Why.ALWAYS, f"leads to {what}"
            if any(ignoring.fits(glob, relative) for glob in self.selection.exclude):
                return Why.EXCLUDED, "a link to an excluded path"
            if ignores.match(str(folder), is_folder=is_folder):
                return Why.IGNORED, "a link to a path that .gitignore ignores"
        return None

    def _folder_reason(self, entry: WalkEntry, depth: int) -> _Reason | None:
        limit = self.selection.max_depth
        if limit is not None and depth >= limit:
            return Why.TOO_DEEP, f"deeper than {limit}"
        identity = (entry.status.st_dev, entry.status.st_ino)
        if identity in self._seen:
            return Why.MET, "the same folder by another link"
        self._seen.add(identity)
        return None

    def _file_reason(self, entry: WalkEntry) -> _Reason | None:
        if not stat.S_ISREG(entry.status.st_mode):
            return Why.SPECIAL, "not a regular file"
        size, most = entry.status.st_size, self.selection.max_file_bytes
        return (Why.TOO_LARGE, f"{size} bytes, over {most}") if size > most else None


def _always_left_out(name: str, *, is_folder: bool) -> str | None:
    """Return the reason for a name that is always left out."""
    return _ALWAYS_LEFT_OUT.get(name) if is_folder or name == _GIT else None


def is_utf8(name: str) -> bool:
    """Return whether a name is text; other bytes cannot be a label or a path of a source."""
    return name.isascii() or name.encode("utf-8", "ignore").decode() == name


def _steps(root: Path, paths: Collection[Path]) -> dict[Path, set[str]]:
    """Return the entries of each folder that lead to the paths."""
    steps: defaultdict[Path, set[str]] = defaultdict(set)
    for path in paths:
        if path == root or not path.is_relative_to(root):
            continue
        for folder in (path, *path.parents):
            if folder == root:
                break
            steps[folder.parent].add(folder.name)
    return steps


def _names(steps: dict[Path, set[str]] | None, folder: Path) -> frozenset[str] | None:
    """Return the wanted entries of a folder; None, which means all, if no path goes deeper."""
    return None if steps is None or folder not in steps else frozenset(steps[folder])
