"""One kept change set on disk: a manifest, and contents under the paths of their changes."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64encode
from dataclasses import dataclass, replace
from pathlib import Path

from executor.project.git.taking import Taking
from executor.project.store.manifest import Change, LeftOut, decode, encode
from executor.project.view.contents import NEW_FILE, copy, digest
from executor.project.view.record import state_of
from executor.project.view.tree import Tree, open_tree, split

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

    Digests of both sides go into it, by which a person's later decision is held true.

    Raises:
        OSError: the store can't be written, or a content not be read.
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
                after = digest(copies, change.path)
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
    """Write, or replace, what says which changes a set has.

    Raises:
        OSError: the store can't be written.
    """
    new = folder / f".{MANIFEST}"
    new.write_text(encode(kept), encoding="ascii")
    new.replace(folder / MANIFEST)


def read(folder: Path) -> Kept:
    """Read a change set as it was written.

    Raises:
        OSError: there is none, or it can't be read.
        ValueError, KeyError, TypeError: another version wrote it.
    """
    text = (folder / MANIFEST).read_text(encoding="ascii")
    fields = json.loads(text)
    if "id" not in fields:  # as it was written until 2026-11, which may go when that has expired
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
    """That of the project's file, if it is still as it was."""
    info = project.info(change.path)
    if info is None or change.before is None or state_of(info) != change.before:
        return ""
    try:
        return digest(project, change.path)
    except OSError:  # no regular file
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
