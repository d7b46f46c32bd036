"""A plan's data, and obstacles to a change: permissions, the host's changes, targets of links,
environments that are torn."""

from __future__ import annotations

import array
import contextlib
import fcntl
import itertools
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from base import process
from executor.model import LeftOut
from executor.project.git.repository_import import Taking
from executor.project.rules.names import ChangeVerdict, NameRow, ObeyedNames, fold
from executor.project.store.manifest import Change
from executor.project.view.record import Record, is_below
from executor.project.view.tree import EntryState, Tree, digest_file, same_content, split, state_of


@dataclass(frozen=True, slots=True)
class CommitRules:
    """The rules that decide on changes.

    Attributes:
        names: names of files that tools load.
        shown: paths that links may point to.
        consent: the user's, if given: exact paths of never-committed names, and paths of which the
            run's side is taken. Held changes are applied with any consent.
    """

    names: ObeyedNames
    shown: Sequence[str] = ()
    consent: tuple[frozenset[str], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes to apply, folders first, and those left out."""

    project: Path
    changes: tuple[Change, ...]
    present: Mapping[str, os.stat_result | None]  # the state of each applied path now
    states: Mapping[str, EntryState]  # the states at the start
    # Time of the project's own folder if its entries change; -1: folders get new times.
    top_mtime_ns: int = -1
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[Change, ...] = ()  # their contents are held for review
    # By path, the number of the repository whose working tree has it.
    units: Mapping[str, int] = field(default_factory=dict)
    takings: tuple[tuple[int, Taking], ...] = ()  # by number; taken before their files are
    kept_takings: tuple[Taking, ...] = ()  # those held for review


FS_IOC_GETFLAGS = 0x80086601  # linux/fs.h: _IOR('f', 1, long)
UNCHANGING = 0x10 | 0x20  # FS_IMMUTABLE_FL, FS_APPEND_FL
SPECIAL_BITS = 0o7000
TO_WRITE = stat.S_IWUSR | stat.S_IXUSR
LATER = "then `context-mode changes apply ID`"


class Obstacles:
    """Checks before any change: of permissions, so that one closed folder does not close others;
    and of changes by the host. The run's contents are in one tree, the project in the other."""

    def __init__(self, contents: Tree, project: Tree) -> None:
        self._contents = contents
        self._project = project
        self._uid = os.geteuid()
        self._sets_all = process.holds(process.FOWNER)
        self._enters_all = process.holds(process.DAC_OVERRIDE)
        self._known: dict[str, str] = {}

    def why_refused(self, change: Change, info: os.stat_result | None) -> str:
        """Return why a change can't be made now, and how to fix that; "" if it can."""
        if info is not None and is_set_in_place(change, info):
            return "" if self._owns(info) else f"another user owns it; let them change it, {LATER}"
        folder, _ = split(change.path)
        if folder not in self._known:
            self._known[folder] = self._why_closed(folder)
        return self._known[folder] or (self._why_fixed(change.path, folder, info) if info else "")

    def _owns(self, info: os.stat_result) -> bool:
        return self._sets_all or self._uid == info.st_uid

    def _why_closed(self, folder: str) -> str:
        try:
            descriptor = self._project.folder(folder)
        except OSError:  # it no longer exists: not a question of permissions
            return ""
        if os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
            return ""
        info, shown = os.fstat(descriptor), folder or "."
        if not self._owns(info):
            return f"another user owns {shown}; ask them to allow writing there, {LATER}"
        if not self._enters_all and info.st_mode & TO_WRITE != TO_WRITE:
            return f"{shown} is read-only; `chmod u+wx {shown}`, {LATER}"
        return f"cannot write {shown}, despite its mode; see `lsattr -d {shown}`, {LATER}"

    def _why_fixed(self, path: str, folder: str, info: os.stat_result) -> str:
        """Return why an entry can't be replaced or deleted in a folder that can be written."""
        above = os.fstat(self._project.folder(folder))
        if above.st_mode & stat.S_ISVTX and not (self._owns(info) or self._owns(above)):
            return f"another user owns it, where only owners may delete; ask them, {LATER}"
        if self._is_unchanging(path, info):
            return f"it is immutable; `chattr -ia {path}`, {LATER}"
        return ""

    def _is_unchanging(self, path: str, info: os.stat_result) -> bool:
        folder, name = split(path)
        descriptor = self._project.folder(folder)
        is_plain = stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)
        if not is_plain or os.access(name, os.W_OK, dir_fd=descriptor, effective_ids=True):
            return False
        flags = array.array("l", [0])
        with contextlib.suppress(OSError):  # some file systems have no such flags
            opened = self._project.open(path)
            try:
                fcntl.ioctl(opened, FS_IOC_GETFLAGS, flags)
            finally:
                os.close(opened)
        return bool(flags[0] & UNCHANGING)

    def find_conflict(
        self, change: Change, info: os.stat_result | None, *, is_in_new_folder: bool
    ) -> str | None:
        """Return why a change can't be made now; "" if it can.

        None is returned if it was already made.
        """
        if change.change == "created":
            return self._find_new(change, info, is_in_new_folder=is_in_new_folder)
        if info is not None and self._is_as_before(change, info):
            return ""
        is_gone = change.change == "deleted" and info is None
        # Times that have changed since no longer matter.
        if is_gone or change.change == "times" or self._is_as_left(change, info):
            return None
        run = "deleted" if change.change == "deleted" else "changed"
        host = "changed" if info else "deleted"
        return f"the run {run} it, and it was {host} in the meantime"

    def _find_new(
        self, change: Change, info: os.stat_result | None, *, is_in_new_folder: bool
    ) -> str | None:
        if info is None:
            has_folder = is_in_new_folder or self._has_folder(change)
            return "" if has_folder else "the run created it; its folder has since been removed"
        is_made = change.kind == "folder" and is_folder(info)
        if is_made or self._is_as_left(change, info):
            return None
        return "the run created it; something else has since been created there"

    def _has_folder(self, change: Change) -> bool:
        try:
            self._project.folder(split(change.path)[0])
        except OSError:
            return False
        return True

    def _is_as_before(self, change: Change, info: os.stat_result) -> bool:
        """Return whether an entry is unchanged; a folder's mode counts only if the run set it."""
        before = change.before
        if before is None:
            return False
        if stat.S_ISDIR(before.mode):
            is_mode_changed = change.change == "mode" and info.st_mode != before.mode
            return stat.S_ISDIR(info.st_mode) and not is_mode_changed
        return state_of(info) == before or self._has_content_before(change, info, before)

    def _is_as_left(self, change: Change, info: os.stat_result | None) -> bool:
        """Return whether someone else made the same change as the run."""
        if info is None or change.change not in ("created", "modified"):
            return False
        if change.kind == "file":
            seen = (stat.S_IFREG | change.mode, change.size)
            is_alike = (info.st_mode & ~SPECIAL_BITS, info.st_size) == seen
            return is_alike and same_content(
                self._contents, self._project, change.path, state_of(info)
            )
        is_link = change.kind == "link" and stat.S_ISLNK(info.st_mode)
        return is_link and self._project.target(change.path) == change.target

    def _has_content_before(self, change: Change, info: os.stat_result, before: EntryState) -> bool:
        """Return whether the file that the user decides on is unchanged."""
        is_alike = (info.st_mode, info.st_size) == (before.mode, before.size)
        try:
            known = change.before_sha256
            return bool(known) and is_alike and digest_file(self._project, change.path) == known
        except OSError:
            return False


def is_set_in_place(change: Change, info: os.stat_result | None) -> bool:
    """Return whether an entry stays, and only gets another mode, time or attributes."""
    is_folder_there = info is not None and stat.S_ISDIR(info.st_mode)
    stays = change.kind == "folder" and is_folder_there and change.change != "deleted"
    return stays or change.change in ("mode", "times")


def is_folder(info: os.stat_result | None) -> bool:
    """Return whether it exists and is a folder."""
    return info is not None and stat.S_ISDIR(info.st_mode)


def replaces_folder(change: Change) -> bool:
    """Return whether a change replaces a folder by something else."""
    before = change.before
    is_other = change.kind != "folder" and change.change != "deleted"
    return before is not None and stat.S_ISDIR(before.mode) and is_other


MARKS = ("pyvenv.cfg", "conda-meta")
_AT_TOP = frozenset({"bin", "scripts", "condabin", "pyvenv.cfg"})
# At any depth: files that Python loads when it starts, and those that `conda activate` uses.
_ON_START = re.compile(
    r"(?:^|/)(?:conda-meta/state|[^/]*\.(?:pth|egg-link)|(?:site|user)customize(?:\.[^/]*)?"
    r"|__editable__[^/]*|_virtualenv\.py|(?:de)?activate\.d)(?=/|$)"
)
STARTED = NameRow(
    "bin",
    ChangeVerdict.HELD,
    "part of an earlier environment: it runs whenever that is used",
)


class Environments:
    """Finds files of earlier environments, and environments that a run made (`made`)."""

    def __init__(self, record: Record, changes: Collection[Change]) -> None:
        self._states = record.states
        self._known: dict[str, bool] = {}
        marked = (
            split(c.path) for c in changes if c.path.endswith(MARKS) and c.change == "created"
        )
        self.made = [
            folder
            for folder, name in marked
            if name in MARKS and folder and not self._was_there(folder)
        ]

    def judge(self, path: str) -> NameRow | None:
        """Return the row for a path that runs whenever an earlier environment is used."""
        parts = path.split("/")
        names = [*map(fold, parts)]
        text = "/".join(names)
        ends = [found.start() + 1 for found in _ON_START.finditer(text)]
        last = text.count("/", 0, ends[-1]) if ends else -1
        for at, name in enumerate(names):
            if (name in _AT_TOP or at <= last) and self._was_there("/".join(parts[:at])):
                return STARTED
        return None

    def leave_torn(
        self, changes: Collection[Change], left: MutableMapping[str, LeftOut | None]
    ) -> None:
        """Leave out whole environments that the run made, if any of their files is left out."""
        for top in self.made:
            below = [change.path for change in changes if is_below(change.path, {top})]
            first = next(filter(None, map(left.get, below)), None)
            if first is not None:
                left.update(dict.fromkeys(below))
                why = f"an environment is committed as a whole; {first.path}: {first.reason}"
                left[top] = LeftOut(top, why, "held")

    def _was_there(self, folder: str) -> bool:
        """Return whether a folder was an environment when the view began."""
        known = self._known.get(folder)
        if known is None:
            known = any(f"{folder}/{mark}".lstrip("/") in self._states for mark in MARKS)
            self._known[folder] = known
        return known


HOPS_MAX = 40  # like the kernel's limit
# Every view shows these read-only: no program of a run can have written them.
SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")


class Links:
    """Follows links by name alone: of the project, and of the changes to apply."""

    def __init__(
        self, project: str, link_at: Callable[[str], str | None], shown: Sequence[str]
    ) -> None:
        """Ask `link_at` for the target of a relative path, None if it is not a link."""
        self.project = project
        self.link_at = link_at
        self.trees = [os.path.realpath(tree) for tree in (*SYSTEM_TREES, *shown)]

    def why_refused(self, path: str, target: str) -> str:
        """Return why a link must not be made in the project; "" if it may."""
        if not target or "\0" in target:
            return "it points to nothing"
        if _goes_down_and_up(target):
            # A later run may replace the folder by a link.
            return "its target goes into a folder and out of it again"
        if not self._stays(os.path.dirname(os.path.join(self.project, path)), target):
            return "it points outside the project"
        return ""

    def _stays(self, beside: str, target: str) -> bool:
        """Return whether a link in the folder `beside` points into the project or a shown tree."""
        at = "/" if target.startswith("/") else beside
        left = target.split("/")[::-1]
        hops = 1
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
            if not self._is_inside(at):
                if self.project.startswith(at.rstrip("/") + "/"):
                    continue  # on the way to it
                return self._is_shown(os.path.join(at, *left[::-1]))
            onward = self.link_at(at[len(self.project) + 1 :])
            if onward is None:
                continue
            hops += 1
            if hops > HOPS_MAX:
                return False
            at = "/" if onward.startswith("/") else os.path.dirname(at)
            left += onward.split("/")[::-1]
        return self._is_inside(at)

    def _is_inside(self, path: str) -> bool:
        return path == self.project or path.startswith(f"{self.project}/")

    def _is_shown(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(real == tree or real.startswith(f"{tree}/") for tree in self.trees)


def _goes_down_and_up(target: str) -> bool:
    """Return whether `..` comes after a name."""
    names = (name for name in target.split("/") if name not in ("", "."))
    return ".." in itertools.dropwhile("..".__eq__, names)
