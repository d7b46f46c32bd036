"""One kept change set on disk: a manifest, and contents under the paths of their changes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from executor.project.contents import digest
from executor.project.manifest import Change, LeftOut
from executor.project.record import State, state_of
from executor.project.tree import Tree, split
from executor.project.walking import FOLDER_FLAGS
from executor.project.writing import Owner, Writer

MANIFEST, CONTENTS = "manifest.json", "contents"


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


def write(folder: Path, kept: Kept, contents: int) -> None:
    """Write a change set into a new folder, its manifest last.

    Raises:
        OSError: the store can't be written, or a content not be read.
    """
    os.makedirs(folder / CONTENTS, mode=0o700)
    project = os.open(kept.project, FOLDER_FLAGS)
    target = os.open(folder / CONTENTS, FOLDER_FLAGS)
    try:
        with Tree(contents) as source, Tree(target) as copies, Tree(project) as present:
            changes = _Copying(source, copies, present).copy(kept.changes)
    finally:
        os.close(project)
        os.close(target)
    manifest = _packed(replace(kept, changes=tuple(changes)))
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="ascii")


class _Copying:
    """Copies contents, and takes the digests by which a person's later decision is held true."""

    def __init__(self, source: Tree, copies: Tree, project: Tree) -> None:
        self.source = source
        self.copies = copies
        self.project = project
        self.writer = Writer()
        self.owner = Owner(os.geteuid(), os.getegid())
        self.made: set[str] = {""}

    def copy(self, changes: Iterable[Change]) -> Sequence[Change]:
        return [self._copy(change) for change in changes]

    def _copy(self, change: Change) -> Change:
        before = self._digest_before(change)
        if change.kind != "file" or change.change == "deleted":
            return replace(change, before_sha256=before)
        folder, name = split(change.path)
        self._make(folder)
        source = self.source.open(change.path)
        try:
            plain = replace(change, mode=0o600, xattrs=())
            self.writer.file(source, self.copies.folder(folder), name, plain, self.owner)
        finally:
            os.close(source)
        return replace(change, sha256=digest(self.copies, change.path), before_sha256=before)

    def _digest_before(self, change: Change) -> str:
        """That of the project's file, if it is still as it was."""
        info = self.project.info(change.path)
        if info is None or change.before is None or state_of(info) != change.before:
            return ""
        try:
            return digest(self.project, change.path)
        except OSError:  # no regular file
            return ""

    def _make(self, folder: str) -> None:
        missing = []
        while folder not in self.made:
            missing.append(folder)
            folder, _ = split(folder)
        for path in reversed(missing):
            beside, name = split(path)
            os.mkdir(name, 0o700, dir_fd=self.copies.folder(beside))
            self.made.add(path)


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
    )


def _packed(kept: Kept) -> dict[str, Any]:
    return {
        "project": str(kept.project),
        "label": kept.label,
        "made": kept.made,
        "size": kept.size,
        "staged": kept.staged,
        "hidden": sorted(kept.hidden),
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
    return Change(**fields, xattrs=xattrs, before=None if before is None else State(*before))
