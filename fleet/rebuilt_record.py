"""What the project was when an order was sent, for a run whose front died: from the order's tree.

The record went with that front. What the run saw is known by its digests; what the project has of
it unchanged counts as it was then, and all else as changed by the host meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace

import trio

from executor.project.view.contents import digest
from executor.project.view.record import EntryState, Record
from executor.project.view.tree import Tree
from executor.project.view.walking import FOLDER_FLAGS
from fleet.changed import Changed
from fleet.errors import BlobError
from fleet.handed_files import ReturnedBlobs
from fleet.layout import TooLargeError, check_list_size
from fleet.tree import Digest, Entry, TreeError, read_tree


async def fetch_entries(root: Digest, blobs: ReturnedBlobs) -> Mapping[str, Entry]:
    """Fetch what a tree has, by path.

    Raises:
        BlobError: its list is gone, or is none.
        UnreachableError: the engine does not answer.
    """
    encoded = bytearray()
    try:
        check_list_size(root)
        await blobs.get(root, encoded.extend)
        return await trio.to_thread.run_sync(read_tree, bytes(encoded))
    except (TreeError, TooLargeError) as error:
        raise BlobError(f"{root} is not a list of entries: {error}") from error


def rebuild(record: Record, entries: Mapping[str, Entry], changed: Iterable[Changed]) -> Record:
    """A whole record of now as of the time at which the tree was made, as far as changes ask.

    Raises:
        OSError: the project can't be read.
    """
    states = dict(record.states)
    top = os.open(record.project, FOLDER_FLAGS)
    try:
        with Tree(top) as project:
            for one in changed:
                entry, now = entries.get(one.path), states.get(one.path)
                if entry is not None and not (now and _is_still(now, entry, project)):
                    states[one.path] = _unknown(_kind(entry))
                elif entry is None and now and one.change != "created":
                    states[one.path] = _unknown(stat.S_IFMT(now.mode))
    finally:
        os.close(top)
    return replace(record, states=states)


def _is_still(now: EntryState, entry: Entry, project: Tree) -> bool:
    """Return whether the project has what a tree has."""
    if stat.S_IFMT(now.mode) != _kind(entry):
        return False
    try:
        if entry.target is not None:
            return project.target(entry.path) == entry.target
        if entry.digest is not None:
            is_alike = now.size == entry.digest.size_bytes
            is_alike = is_alike and bool(now.mode & 0o100) is entry.is_executable
            return is_alike and digest(project, entry.path) == entry.digest.hash
    except OSError:
        return False
    return True


def _kind(entry: Entry) -> int:
    if entry.target is not None:
        return stat.S_IFLNK
    return stat.S_IFDIR if entry.digest is None else stat.S_IFREG


def _unknown(kind: int) -> EntryState:
    """A state that no entry has."""
    return EntryState(kind, -1, -1, -1, -1)
