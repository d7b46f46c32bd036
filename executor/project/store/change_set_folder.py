"""One stored change set: its folder, its diff, and the user's decision on it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path

from executor.model import LeftOut
from executor.project.git.differences import BYTES_MAX, compare, find_renames, merge
from executor.project.git.repository_import import Taking
from executor.project.plan.conflicts import CommitRules
from executor.project.rules.names import ObeyedNames
from executor.project.store.manifest import (
    Change,
    ChangeSet,
    CommitError,
    decode,
    encode,
    list_changes,
)
from executor.project.view.record import is_below, take
from executor.project.view.tree import (
    NEW_FILE,
    Tree,
    copy,
    digest_file,
    open_tree,
    read_some,
    split,
    state_of,
)

TEXT_BYTES_MAX = 1 << 20


def diff_lines(changes: Sequence[Change], project: Path, contents: int) -> Iterator[str]:
    """Yield lines of unified diffs, without line ends; sizes and digests of binary files.

    Raises:
        OSError: the project can't be read.
    """
    with open_tree(project) as before, Tree(contents) as after:
        texts = _Texts(before, after)
        others = [c for c in changes if _has_content(c) and not texts.add(c)]
        found = compare(texts.before, texts.after, "-p", "-M")
        hunks = None if found is None else {new or old: lines for old, new, lines in found}
        renames = find_renames(others, project, contents)
        renames |= {new: old for old, new, _ in found or () if old and new not in ("", old)}
        for change in list_changes(changes, renames):
            old = change.source if change.change == "renamed" else change.path
            yield from _write_header(change, old, before.info(old))
            if not _has_content(change):
                yield f"{change.kind} {change.change}"
            elif not texts.has(change.path):
                yield f"Binary: {_describe_now(before, old)} → {_describe_left(change)}"
            elif hunks is None:
                sizes = texts.sizes(old, change.path)
                yield f"{sizes}: git, which compares them, is not available"
            elif hunks.get(change.path):
                yield "--- /dev/null" if change.change == "created" else f"--- a/{old}"
                yield "+++ /dev/null" if change.change == "deleted" else f"+++ b/{change.path}"
                yield from hunks[change.path]


class _Texts:
    """Texts and targets of links, from both sides."""

    def __init__(self, project: Tree, contents: Tree) -> None:
        self._trees = (project, contents)
        self._room = 2 * BYTES_MAX
        self.before: dict[str, bytes] = {}
        self.after: dict[str, bytes] = {}

    def add(self, change: Change) -> bool:
        """Read both sides of a change; return whether both are texts."""
        project, contents = self._trees
        path, is_new, is_gone = change.path, change.change == "created", change.change == "deleted"
        try:
            before: bytes | None = b"" if is_new else os.fsencode(project.target(path))
        except OSError:
            before = _read_text(project, path)
        if change.kind == "link" or is_gone:
            after: bytes | None = b"" if is_gone else os.fsencode(change.target)
        else:
            after = _read_text(contents, path)
        if before is None or after is None or self._room < len(before) + len(after):
            return False
        self._room -= len(before) + len(after)
        self.before |= {} if is_new else {path: before}
        self.after |= {} if is_gone else {path: after}
        return True

    def has(self, path: str) -> bool:
        """Return whether the sides of a path are texts."""
        return path in self.before or path in self.after

    def sizes(self, old: str, new: str) -> str:
        """Return the sizes of both sides."""
        return f"{len(self.before.get(old, b''))} → {len(self.after.get(new, b''))} bytes"


def _write_header(change: Change, old: str, info: os.stat_result | None) -> Iterator[str]:
    yield f"diff --git a/{old} b/{change.path}"
    if change.change == "renamed":
        yield f"rename from {old}"
        yield f"rename to {change.path}"
    if change.change in ("created", "deleted"):
        said = "new" if change.change == "created" else "deleted"
        yield f"{said} {change.kind} mode {change.mode:o}"
    elif info is not None and info.st_mode & 0o777 != change.mode and change.kind != "link":
        yield f"old mode {info.st_mode & 0o777:o}"
        yield f"new mode {change.mode:o}"


def _has_content(change: Change) -> bool:
    return change.kind != "folder" and change.change not in ("mode", "times")


def _read_text(tree: Tree, path: str) -> bytes | None:
    data = read_some(tree, path, TEXT_BYTES_MAX)
    return None if data is None or b"\0" in data else data


def _describe_now(project: Tree, path: str) -> str:
    info = project.info(path)
    try:
        return f"{info.st_size} bytes, sha256 {digest_file(project, path)}" if info else "nothing"
    except OSError:
        return "not a regular file"


def _describe_left(change: Change) -> str:
    if change.change == "deleted":
        return "nothing"
    return f"{change.size} bytes, sha256 {change.sha256}"


MANIFEST, CONTENTS, BASES, REPOSITORIES = "manifest.json", "contents", "bases", "repositories"
BASE_BYTES_MAX = 1 << 20  # of a former content stored to merge lines


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored change set."""

    id: str
    project: Path
    label: str
    made: float  # seconds since the epoch
    size: int  # bytes of all contents
    staged: bool
    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]  # why its paths are held; empty if staged
    hidden: frozenset[str] = frozenset()
    takings: tuple[Taking, ...] = ()


def write(folder: Path, kept: Kept, contents: int) -> None:
    """Write a change set into a new folder, its manifest last.

    It includes digests of both sides, to check at the user's later decision.

    Raises:
        OSError: the store can't be written, or a content can't be read.
    """
    for name in (CONTENTS, BASES, REPOSITORIES):
        (folder / name).mkdir(mode=0o700, parents=True)
    changes = []
    with (
        open_tree(folder / CONTENTS) as copies,
        open_tree(folder / BASES) as bases,
        open_tree(kept.project) as project,
        Tree(contents) as source,
    ):
        for change in kept.changes:
            before, after = _digest_before(change, project), change.sha256
            if change.kind == "file" and change.change != "deleted":
                _copy(change.path, source, copies)
                after = digest_file(copies, change.path)
                size = change.before.size if change.before else 0
                if before and change.change == "modified" and size <= BASE_BYTES_MAX:
                    _copy(change.path, project, bases)
            changes.append(replace(change, sha256=after, before_sha256=before))
    takings = []
    for number, taking in enumerate(kept.takings):
        pack = Path(REPOSITORIES, str(number))
        shutil.copyfile(taking.carried.pack, folder / pack)
        takings.append(taking.with_pack(pack))
    write_manifest(folder, replace(kept, changes=tuple(changes), takings=tuple(takings)))


def write_manifest(folder: Path, kept: Kept) -> None:
    """Write or replace the list of a set's changes.

    Raises:
        OSError: the store can't be written.
    """
    new = folder / f".{MANIFEST}"
    new.write_text(encode(kept), encoding="ascii")
    new.replace(folder / MANIFEST)


def read_kept(folder: Path) -> Kept:
    """Read a change set as it was written.

    Raises:
        OSError: it is missing, or can't be read.
        ValueError, KeyError, TypeError: another version wrote it.
    """
    text = (folder / MANIFEST).read_text(encoding="ascii")
    fields = json.loads(text)
    if "id" not in fields:  # format until 2026-11; remove this when such sets have expired
        for change in fields["changes"]:
            own = ((name, bytes.fromhex(value)) for name, value in change["xattrs"])
            change["xattrs"] = [(name, b64encode(value).decode()) for name, value in own]
        left_out = [LeftOut(*each) for each in fields["left_out"]]
        text = encode(fields | {"id": folder.name, "left_out": left_out})
    kept = decode(Kept, text)
    packs = (folder / REPOSITORIES / taking.carried.pack.name for taking in kept.takings)
    takings = (one.with_pack(pack) for one, pack in zip(kept.takings, packs, strict=True))
    return replace(kept, takings=tuple(takings))


def _digest_before(change: Change, project: Tree) -> str:
    """Return the digest of the project's file, if that is unchanged; otherwise ""."""
    info = project.info(change.path)
    if info is None or change.before is None or state_of(info) != change.before:
        return ""
    try:
        return digest_file(project, change.path)
    except OSError:  # not a regular file
        return ""


def _copy(path: str, source: Tree, target: Tree) -> None:
    folder, name = split(path)
    opened = source.open(path)
    try:
        copied = os.open(name, NEW_FILE, 0o600, dir_fd=_make_folder(target, folder))
        try:
            copy(opened, copied)
        finally:
            os.close(copied)
    finally:
        os.close(opened)


def _make_folder(tree: Tree, path: str) -> int:
    try:
        return tree.folder(path)
    except FileNotFoundError:
        above, name = split(path)
        os.mkdir(name, 0o700, dir_fd=_make_folder(tree, above))
        return tree.folder(path)


def find_paths(wanted: str, known: Iterable[str]) -> set[str]:
    """Find the paths that a user names: one and all below it, or all that match a pattern.

    A pattern has `*`, `?` or `[…]`, and `**` for any folders; without a slash it matches names in
    any folder. An existing path is not treated as a pattern.
    """
    known, wanted = tuple(known), os.path.normpath(wanted)
    if wanted == ".":
        return set(known)
    found = {path for path in known if is_below(path, {wanted})}
    if found or not any(sign in wanted for sign in "*?["):
        return found
    pattern = wanted.split("/") if "/" in wanted else ["**", wanted]
    return {path for path in known if _fits(path.split("/"), pattern)}


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the names of a path, or of a folder above it, match those of a pattern."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_fits(parts[at:], pattern[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def make_rules(
    names: ObeyedNames, shown: Sequence[str], paths: Iterable[str], theirs: Iterable[str]
) -> CommitRules:
    """Make rules from the user's choice: exact paths, and paths to take from the run."""
    plain = {*map(os.path.normpath, paths)}
    exactly = frozenset(plain.union(*map(_list_folders, plain)))
    return CommitRules(names, shown, (exactly, frozenset(map(os.path.normpath, theirs))))


def _list_folders(path: str) -> set[str]:
    """Return the folders that contain a path."""
    return {*accumulate(path.split("/")[:-1], "{}/{}".format)}


def select(kept: Kept, paths: Sequence[str], *, may_be_empty: bool = False) -> tuple[Change, ...]:
    """Select the changes at some paths, below them, and of new folders that contain them.

    Raises:
        CommitError: the change set has no change at one of the paths.
    """
    known = [change.path for change in kept.changes]
    wanted: set[str] = set() if paths else set(known)
    for path in paths:
        found = find_paths(path, known)
        if not found and not may_be_empty:
            raise CommitError(
                f"no changes at {path!r} in {kept.id}",
                f"List its changes: context-mode changes show {kept.id}",
            )
        wanted |= found.union(*map(_list_folders, found))
    return tuple(change for change in kept.changes if change.path in wanted)


@contextmanager
def as_change_set(kept: Kept, folder: Path, paths: Sequence[str]) -> Iterator[ChangeSet]:
    """Yield stored changes as those of a run that ends now.

    Raises:
        CommitError: there are no changes at one of the paths.
        OSError: the stored files can't be read.
    """
    record = take(kept.project, kept.hidden)
    takings = {one.carried.control: one for one in kept.takings}
    named = {control for path in paths or (".",) for control in find_paths(path, takings)}
    repositories = tuple(one for control, one in takings.items() if control in named)
    changes = select(kept, paths, may_be_empty=bool(named))
    with open_tree(folder / CONTENTS) as contents:
        yield ChangeSet(record, changes, contents.top, (), repositories=repositories)


@contextmanager
def merge_conflicts(
    changes: ChangeSet, conflicts: Sequence[LeftOut], kept_in: Path
) -> Iterator[tuple[ChangeSet, frozenset[str]]]:
    """Yield the changes with merged texts where both sides changed a file; and their paths."""
    with (
        open_tree(changes.record.project) as project,
        open_tree(kept_in / BASES) as base,
        Tree(changes.contents) as run,
    ):
        merged = {left.path: _merge(left.path, project, base, run) for left in conflicts}
    texts = {path: text for path, text in merged.items() if text is not None}
    with tempfile.TemporaryDirectory(prefix=".merged-", dir=kept_in) as place:
        folder = Path(place, CONTENTS)
        shutil.copytree(kept_in / CONTENTS, folder, copy_function=os.link)
        for path, text in texts.items():
            (folder / path).unlink()
            (folder / path).write_bytes(text)
        now_ns = time.time_ns()
        sized = tuple(
            replace(c, size=len(texts[c.path]), mtime_ns=now_ns) if c.path in texts else c
            for c in changes.changes
        )
        with open_tree(folder) as tree:
            yield replace(changes, changes=sized, contents=tree.top), frozenset(texts)


def _merge(path: str, *trees: Tree) -> bytes | None:
    """Merge two sides' changes to a text: the project's, the former one, and the run's."""
    if any(tree.info(path) is None for tree in trees):
        return None
    ours, before, theirs = (read_some(tree, path, BASE_BYTES_MAX) for tree in trees)
    if ours is None or before is None or theirs is None:
        return None
    return merge(ours, before, theirs)
