"""The changes of a run at a worker, as changes to the project here.

The earlier state is known here, and never taken from a worker. A worker lays files out with plain
modes and one time: attributes that a run left unchanged there stand for the project's own.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import BinaryIO, Final

from executor import MIB, LeftOut
from executor.project import Change, ChangeSet, find_renames
from executor.project.view import (
    KINDS,
    NEW_FILE,
    PATH_BYTES_MAX,
    PERMISSIONS,
    Attributes,
    EntryState,
    Record,
    Tree,
    attributes,
    digest_file,
    in_tree_order,
    is_below,
    open_tree,
    split,
)
from fleet.blob_cache import LAID_OUT_NS, laid_out_mode
from fleet.model import OutcomeError, has_content
from fleet.tree import BlobError, Digest, prove

ATTRIBUTES: Final = ("mode", "times")


def as_change_set(
    changed: Iterable[Change], refused: Sequence[LeftOut], record: Record, contents: int
) -> ChangeSet:
    """Return the changes with the earlier state from `record`; contents may be moved away.

    Raises:
        OSError: the project cannot be read.
    """
    with open_tree(record.project) as project:
        path_bytes_max = PATH_BYTES_MAX - len(os.fsencode(record.project)) - 2
        left_out, changes = [*refused], []
        for one in sorted(changed, key=lambda each: in_tree_order(each.path)):
            if len(os.fsencode(one.path)) > path_bytes_max:
                left_out.append(LeftOut(one.path, "its path is too long", "refused"))
            elif (change := _read(one, record, project)) is not None:
                changes.append(change)
        moved = _find_moved(changes, find_renames(changes, record.project, contents))
        now_ns = time.time_ns()
        final = tuple(
            _as_moved(change, moved.get(change.path), record, project, now_ns) for change in changes
        )
    return ChangeSet(record, final, contents, tuple(left_out), may_move=True)


def _read(one: Change, record: Record, project: Tree) -> Change | None:
    """Return one change; None if the project already has that state, as a worker sees it."""
    before = record.states.get(one.path)
    if one.change == "deleted":
        return _deleted(one.path, before)
    change = replace(
        one,
        change=one.change if before else "created",
        source=one.source if _is_same(one, record, project) else "",
        sha256="",
        before=before,
    )
    if before is None or change.change == "created":
        return change
    if _kind(before) != one.kind:
        return replace(change, change="modified")
    change = _as_found(change, before, _attributes(one.path, one.kind, project))
    return _as_differs(change, before) if change.change in ATTRIBUTES else change


def _as_differs(change: Change, before: EntryState) -> Change | None:
    """Return a change of a mode or time as it applies here; None if nothing differs."""
    if change.kind != "link" and change.mode != before.mode & PERMISSIONS:
        return replace(change, change="mode")
    return replace(change, change="times") if change.mtime_ns != before.mtime_ns else None


def _deleted(path: str, before: EntryState | None) -> Change:
    if before is None:  # it is newer than the record: the run cannot have deleted it
        return Change(path, "deleted", "file", 0, 0, 0)
    mode, size, mtime_ns, _, _ = before
    return Change(path, "deleted", _kind(before), mode & PERMISSIONS, size, mtime_ns, before=before)


def _kind(state: EntryState) -> str:
    return KINDS.get(stat.S_IFMT(state.mode), "file")


def _is_same(one: Change, record: Record, project: Tree) -> bool:
    """Return whether the source of a hard link has the content that the run saw.

    A worker that could name any file would get its content shown under another name.
    """
    state = record.states.get(one.source) if one.source else None
    if state is None or not stat.S_ISREG(state.mode):
        return False
    if is_below(one.source, record.hidden):
        return False
    try:
        return digest_file(project, one.source) == one.sha256
    except OSError:
        return False


def _as_found(change: Change, before: EntryState, xattrs: Attributes) -> Change:
    """Return a change with the project's own mode and time if the run left them unchanged."""
    is_found = change.mode == laid_out_mode(before.mode)
    mode = before.mode & PERMISSIONS if is_found else change.mode
    mtime_ns = before.mtime_ns if change.mtime_ns == LAID_OUT_NS else change.mtime_ns
    return replace(change, mode=mode, mtime_ns=mtime_ns, xattrs=xattrs)


def _find_moved(changes: Sequence[Change], pairs: dict[str, str]) -> dict[str, str]:
    """Map new paths to old ones: all entries of folders that moved, and hard links."""
    found, gone = dict(pairs), {c.path for c in changes if c.change == "deleted"}
    for pair in pairs.items():
        (new, name), (old, was) = map(split, pair)
        while new and old in gone and name == was:
            found.setdefault(new, old)
            (new, name), (old, was) = split(new), split(old)
    for change in changes:
        folder = change.path
        while folder and folder not in found:
            folder = split(folder)[0]
        if change.source or folder:
            source = change.source or found[folder] + change.path[len(folder) :]
            found.setdefault(change.path, source)
    return found


def _as_moved(
    change: Change, old: str | None, record: Record, project: Tree, now_ns: int
) -> Change:
    """Return a new entry with the attributes of its source."""
    before = record.states.get(old) if old else None
    if old and before and change.change == "created" and _kind(before) == change.kind:
        change = _as_found(change, before, _attributes(old, change.kind, project))
    # The run moved it from another file, of which nothing more is known.
    return replace(change, mtime_ns=now_ns) if change.mtime_ns == LAID_OUT_NS else change


def _attributes(path: str, kind: str, project: Tree) -> Attributes:
    """Return the attributes of the project's entry: none are sent to a worker."""
    try:
        if kind == "folder":
            return attributes(project.folder(path))
        descriptor = project.open(path)  # which a link does not support
    except OSError:
        return ()
    try:
        return attributes(descriptor)
    finally:
        os.close(descriptor)


def cut_contents(whole: BinaryIO, changed: Iterable[Change], top: int) -> None:
    """Cut contents that follow one another into files below `top`, an empty folder.

    Raises:
        OutcomeError: a digest does not match, or there is more content.
        OSError: a file cannot be written.
    """
    made: set[str] = set()
    with Tree(top) as tree:
        for one in filter(has_content, changed):
            *above, name = one.path.split("/")
            for path in accumulate(above, "{}/{}".format):
                if path not in made:
                    folder, last = split(path)
                    os.mkdir(last, 0o700, dir_fd=tree.folder(folder))
                    made.add(path)
            target = os.open(name, NEW_FILE, 0o600, dir_fd=tree.folder("/".join(above)))
            with open(target, "wb") as file:
                file.writelines(_cut(whole, one))
    if whole.read(1):
        raise OutcomeError("the changed files have more content than was listed")


def _cut(whole: BinaryIO, one: Change) -> Iterator[bytes]:
    """Return the next content in pieces.

    Raises:
        OutcomeError: it does not match its digest.
    """
    sizes = (min(MIB, one.size - at) for at in range(0, one.size, MIB))
    try:
        yield from prove(Digest(one.sha256, one.size), map(whole.read, sizes))
    except BlobError:
        raise OutcomeError("a changed file does not match its digest") from None
