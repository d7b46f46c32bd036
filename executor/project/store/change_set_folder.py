"""One kept change set on disk: a manifest, and contents under the paths of their changes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from executor.project.apply.writing import Owner, Writer
from executor.project.git.taking import Taking
from executor.project.store.manifest import Change, LeftOut
from executor.project.view.contents import digest
from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree, split
from executor.project.view.walking import FOLDER_FLAGS

MANIFEST, CONTENTS, BASES, REPOSITORIES = "manifest.json", "contents", "bases", "repositories"
BASE_BYTES_MAX = 1 << 20  # of what lines can be merged with


@dataclass(frozen=True, slots=True)
class Kept:
    """A change set that is kept; `left_out` says why its paths wait, nothing of staged ones."""

    id: str
    project: Path
    label: str
    made: float  # seconds since the epoch
    size: int  # bytes of all contents
    staged: bool
    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]
    hidden: frozenset[str] = frozenset()
    takings: tuple[Taking, ...] = ()


def write(folder: Path, kept: Kept, contents: int) -> None:
    """Write a change set into a new folder, its manifest last.

    Raises:
        OSError: the store can't be written, or a content not be read.
    """
    with (
        _open_tree(folder / CONTENTS) as copies,
        _open_tree(folder / BASES) as bases,
        _open_tree(kept.project, is_new=False) as project,
    ):
        copying = _ContentCopy(Tree(contents), copies, bases, project)
        changes = tuple(copying.copy(change) for change in kept.changes)
        copying.source.forget()
    for number, taking in enumerate(kept.takings):
        taking.save(folder / REPOSITORIES / str(number))
    write_manifest(folder, replace(kept, changes=changes))


def write_manifest(folder: Path, kept: Kept) -> None:
    """Write, or replace, what says which changes a set has.

    Raises:
        OSError: the store can't be written.
    """
    new = folder / f".{MANIFEST}"
    new.write_text(json.dumps(_pack(kept)), encoding="ascii")
    new.replace(folder / MANIFEST)


@contextmanager
def _open_tree(folder: Path, *, is_new: bool = True) -> Iterator[Tree]:
    if is_new:
        os.makedirs(folder, mode=0o700)
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        with Tree(descriptor) as tree:
            yield tree
    finally:
        os.close(descriptor)


class _ContentCopy:
    """Copies contents, and takes the digests by which a person's later decision is held true."""

    def __init__(self, source: Tree, copies: Tree, bases: Tree, project: Tree) -> None:
        self.source = source
        self.copies = copies
        self.bases = bases
        self.project = project
        self.writer = Writer()
        self.owner = Owner(os.geteuid(), os.getegid())
        self.made = {id(copies): {""}, id(bases): {""}}

    def copy(self, change: Change) -> Change:
        """Copy one change's content; the change with the digests of both sides."""
        before = self._digest_before(change)
        if change.kind != "file" or change.change == "deleted":
            return replace(change, before_sha256=before)
        self._copy(self.source, self.copies, change)
        if before and change.change == "modified" and _size_before(change) <= BASE_BYTES_MAX:
            self._copy(self.project, self.bases, change)
        return replace(change, sha256=digest(self.copies, change.path), before_sha256=before)

    def _copy(self, source: Tree, target: Tree, change: Change) -> None:
        folder, name = split(change.path)
        self._make(target, folder)
        opened = source.open(change.path)
        try:
            plain = replace(change, mode=0o600, xattrs=())
            self.writer.file(opened, target.folder(folder), name, plain, self.owner)
        finally:
            os.close(opened)

    def _digest_before(self, change: Change) -> str:
        """That of the project's file, if it is still as it was."""
        info = self.project.info(change.path)
        if info is None or change.before is None or state_of(info) != change.before:
            return ""
        try:
            return digest(self.project, change.path)
        except OSError:  # no regular file
            return ""

    def _make(self, target: Tree, folder: str) -> None:
        made, missing = self.made[id(target)], []
        while folder not in made:
            missing.append(folder)
            folder, _ = split(folder)
        for path in reversed(missing):
            beside, name = split(path)
            os.mkdir(name, 0o700, dir_fd=target.folder(beside))
            made.add(path)


def _size_before(change: Change) -> int:
    return change.before.size if change.before else 0


def read(folder: Path) -> Kept:
    """A change set as it was written.

    Raises:
        OSError: there is none, or it can't be read.
        ValueError: it is not what was written.
    """
    fields = json.loads((folder / MANIFEST).read_text(encoding="ascii"))
    return Kept(
        folder.name,
        Path(fields["project"]),
        fields["label"],
        fields["made"],
        fields["size"],
        fields["staged"],
        tuple(_change(each) for each in fields["changes"]),
        tuple(LeftOut(*each) for each in fields["left_out"]),
        frozenset(fields["hidden"]),
        tuple(_read_takings(folder, fields.get("takings", ()))),
    )


def _read_takings(folder: Path, controls: Iterable[str]) -> Iterator[Taking]:
    """Read the repositories that wait, of these folders of theirs."""
    for place in sorted((folder / REPOSITORIES).glob("*")):
        taking = Taking.load(place)
        if taking.carried.control in controls:
            yield taking


def _pack(kept: Kept) -> dict[str, Any]:
    return {
        "project": str(kept.project),
        "label": kept.label,
        "made": kept.made,
        "size": kept.size,
        "staged": kept.staged,
        "hidden": sorted(kept.hidden),
        "takings": [taking.carried.control for taking in kept.takings],
        "left_out": [(left.path, left.reason, left.kind) for left in kept.left_out],
        "changes": [
            {
                **{name: getattr(change, name) for name in Change.__slots__},
                "xattrs": [(name, value.hex()) for name, value in change.xattrs],
            }
            for change in kept.changes
        ],
    }


def _change(fields: dict[str, Any]) -> Change:
    before = fields.pop("before")
    xattrs = tuple((name, bytes.fromhex(value)) for name, value in fields.pop("xattrs"))
    return Change(**fields, xattrs=xattrs, before=None if before is None else EntryState(*before))
