"""Refs by which git shows other objects under the names of known ones: no history shows them."""

from __future__ import annotations

import os

from executor.project.store.manifest import ChangeSet
from executor.project.view.tree import Tree

BYTES_MAX = 64 << 20
_PACKED = "packed-refs"
_TABLES = "reftable/"
# A table leaves out what a name has in common with the one before, such as `refs/re`.
_IN_TABLE = b"place/"


def find(prefix: str, changes: ChangeSet, project: Tree) -> str:
    """The list of a repository's refs to which a run added such; empty without one.

    `prefix` is what paths of the repository's own folder begin with.
    """
    with Tree(changes.contents) as contents:
        for change in changes.changes:
            path = change.path
            inside = path[len(prefix) :] if path.startswith(prefix) else ""
            if inside != _PACKED and not inside.startswith(_TABLES):
                continue
            is_left = change.kind == "file" and change.change != "deleted"
            if is_left and _replacing(contents, path, inside) - _replacing(project, path, inside):
                return path
    return ""


def _replacing(tree: Tree, path: str, inside: str) -> set[bytes]:
    """The lines of a list of refs that replace objects; of a table the whole, if it may have one.

    So is one that is too large to be read.
    """
    try:
        descriptor = tree.open(path)
    except OSError:
        return set()
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(BYTES_MAX + 1)
    if inside != _PACKED or len(data) > BYTES_MAX:
        return {data} if _IN_TABLE in data or len(data) > BYTES_MAX else set()
    return {line for line in data.split(b"\n") if b"refs/replace/" in line}
