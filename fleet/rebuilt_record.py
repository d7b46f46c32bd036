"""What the project was when an order was sent, for a run whose front died: from the order's tree.

The record went with that front. What the run saw is known by its digests; what the project has of
it unchanged counts as it was then, and all else as changed by the host meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from executor.project.view.contents import digest
from executor.project.view.record import EntryState, Record
from executor.project.view.tree import Tree
from executor.project.view.walking import FOLDER_FLAGS
from fleet.changed import Changed
from fleet.dispatcher import Source
from fleet.errors import BlobError
from fleet.fetching import fetch
from fleet.layout import FOLDER_BYTES_MAX
from fleet.tree import Digest, FileNode, Folder, FolderNode, LinkNode, TreeError

Node = FileNode | FolderNode | LinkNode
_KINDS: Final = {FileNode: stat.S_IFREG, FolderNode: stat.S_IFDIR, LinkNode: stat.S_IFLNK}


async def find_nodes(
    root: Digest, blobs: Source, changed: Iterable[Changed]
) -> Mapping[str, Node | None]:
    """What a tree has at each changed path; None where it has nothing.

    Raises:
        BlobError: a folder of it is gone.
        UnreachableError: the engine does not answer.
    """
    known: dict[Digest, dict[str, Node]] = {}
    found: dict[str, Node | None] = {}
    for path in (one.path for one in changed):
        node: Node | None = FolderNode("", root)
        for name in path.split("/"):
            if not isinstance(node, FolderNode):
                node = None
                break
            if node.digest not in known:
                known[node.digest] = await _list(node.digest, blobs)
            node = known[node.digest].get(name)
        found[path] = node
    return found


async def _list(folder: Digest, blobs: Source) -> dict[str, Node]:
    """What a folder of the tree has, by name."""
    if folder.size_bytes > FOLDER_BYTES_MAX:
        raise BlobError(f"the folder {folder} is too large")
    message = bytearray()
    await fetch(folder, blobs, message.extend)
    try:
        read = Folder.decode(bytes(message))
    except TreeError as error:
        raise BlobError(f"{folder} is no folder: {error}") from error
    nodes: tuple[Node, ...] = (*read.files, *read.folders, *read.links)
    return {node.name: node for node in nodes}


def rebuild(record: Record, nodes: Mapping[str, Node | None], changed: Iterable[Changed]) -> Record:
    """A whole record of now as of the time at which the tree was made, as far as changes ask.

    Raises:
        OSError: the project can't be read.
    """
    states = dict(record.states)
    top = os.open(record.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project:
            for one in changed:
                node, now = nodes[one.path], states.get(one.path)
                if node is not None and not (now and _is_still(one.path, now, node, project)):
                    states[one.path] = _unknown(_KINDS[type(node)])
                elif node is None and now and one.change != "created":
                    states[one.path] = _unknown(stat.S_IFMT(now.mode))
    finally:
        os.close(top)
    return replace(record, states=states)


def _is_still(path: str, now: EntryState, node: Node, project: Tree) -> bool:
    """Whether the project has what a tree has."""
    if stat.S_IFMT(now.mode) != _KINDS[type(node)]:
        return False
    try:
        if isinstance(node, LinkNode):
            return project.target(path) == node.target
        if isinstance(node, FileNode):
            is_alike = now.size == node.digest.size_bytes
            is_alike = is_alike and bool(now.mode & 0o100) is node.is_executable
            return is_alike and digest(project, path) == node.digest.hash
    except OSError:
        return False
    return True


def _unknown(kind: int) -> EntryState:
    """A state that no entry has."""
    return EntryState(kind, -1, -1, -1, -1)
