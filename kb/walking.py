"""Which files of a folder are meant: every one that is passed over is noted with its reason."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are rarely what a person wrote; index one by itself where it is wanted."""

_ALWAYS_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was not indexed, relative to the root, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a folder are meant.

    `include` and `exclude` are glob patterns over relative paths, or over names alone where they
    have no slash. `allowed` gives the reason why a path may not be read, or None.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    extensions: frozenset[str] = frozenset()
    max_depth: int | None = None
    max_file_bytes: int = MAX_FILE_BYTES
    respect_gitignore: bool = True
    follow_symlinks: bool = False
    allowed: Callable[[Path], str | None] | None = None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be read, and the ignore files that hold for it, outermost first."""

    path: Path
    depth: int
    ignores: tuple[tuple[Path, GitIgnoreSpec], ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    relative: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


@dataclass(slots=True)
class Walk:
    """One pass over the files below `root` that `selection` means, folder by folder, by name.

    `skipped` fills as it goes. A link out of `root` is never followed, and no folder read twice.
    """

    root: Path
    selection: Selection
    skipped: list[Skipped] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def files(self) -> Iterator[Path]:
        """The paths of the regular files that are meant."""
        waiting = [_Folder(self.root, 0)]
        while waiting:
            folder = waiting.pop()
            try:
                names = sorted(os.listdir(folder.path))
            except OSError as error:
                self.skip(folder.path, f"unreadable: {error.strerror}")
                continue
            if self.selection.respect_gitignore:
                ignores = (*folder.ignores, *_ignore_files(folder.path))
                folder = _Folder(folder.path, folder.depth, ignores)
            below = []
            for name in names:
                entry = self._entry(folder.path / name)
                if entry is None or not self._meant(entry, folder):
                    continue
                if entry.is_folder:
                    below.append(_Folder(entry.path, folder.depth + 1, folder.ignores))
                else:
                    yield entry.path
            waiting.extend(reversed(below))

    def skip(self, path: Path, reason: str) -> None:
        self.skipped.append(Skipped(str(path.relative_to(self.root)), reason))

    def _entry(self, path: Path) -> _Entry | None:
        """The path with its status; None for one that cannot or must not be followed."""
        try:
            if path.is_symlink():
                if not self.selection.follow_symlinks:
                    self.skip(path, "a symbolic link")
                    return None
                if not path.resolve(strict=True).is_relative_to(self.root):
                    self.skip(path, "a symbolic link that leads out of the folder")
                    return None
            return _Entry(path, path.relative_to(self.root).as_posix(), path.stat())
        except OSError as error:
            self.skip(path, f"unreadable: {error.strerror}")
            return None

    def _meant(self, entry: _Entry, folder: _Folder) -> bool:
        """Whether the selection means the entry; if not, the reason is noted, except for what
        `include` and `extensions` simply do not name."""
        if not entry.is_folder and not self._named(entry):
            return False
        reason = self._general_reason(entry, folder)
        if reason is None and entry.is_folder:
            reason = self._folder_reason(entry, folder.depth)
        elif reason is None:
            reason = self._file_reason(entry)
        if reason is not None:
            self.skip(entry.path, reason)
        return reason is None

    def _named(self, entry: _Entry) -> bool:
        include, extensions = self.selection.include, self.selection.extensions
        if include and not any(_matches(entry.relative, pattern) for pattern in include):
            return False
        return not extensions or entry.path.suffix.lstrip(".").lower() in extensions

    def _general_reason(self, entry: _Entry, folder: _Folder) -> str | None:
        if entry.is_folder and entry.path.name in _ALWAYS_LEFT_OUT:
            return "always left out"
        if any(_matches(entry.relative, pattern) for pattern in self.selection.exclude):
            return "excluded"
        if _ignored(entry, folder.ignores):
            return "ignored by .gitignore"
        return self.selection.allowed(entry.path) if self.selection.allowed else None

    def _folder_reason(self, entry: _Entry, depth: int) -> str | None:
        limit = self.selection.max_depth
        if limit is not None and depth >= limit:
            return f"deeper than {limit}"
        identity = (entry.status.st_dev, entry.status.st_ino)
        if identity in self._seen:
            return "the same folder by another link"
        self._seen.add(identity)
        return None

    def _file_reason(self, entry: _Entry) -> str | None:
        if not stat.S_ISREG(entry.status.st_mode):
            return "not a regular file"
        if entry.status.st_size > self.selection.max_file_bytes:
            return f"{entry.status.st_size} bytes, over {self.selection.max_file_bytes}"
        return None


def _matches(relative: str, pattern: str) -> bool:
    if fnmatch.fnmatchcase(relative, pattern):
        return True
    return "/" not in pattern and fnmatch.fnmatchcase(relative.rsplit("/", 1)[-1], pattern)


def _ignore_files(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    for name in (".git/info/exclude", ".gitignore"):
        try:
            lines = (folder / name).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only where there is something to read

        yield folder, GitIgnoreSpec.from_lines(lines)


def _ignored(entry: _Entry, ignores: tuple[tuple[Path, GitIgnoreSpec], ...]) -> bool:
    """The innermost file that says anything about the path decides, as git does."""
    for folder, spec in reversed(ignores):
        relative = entry.path.relative_to(folder).as_posix() + ("/" if entry.is_folder else "")
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False
