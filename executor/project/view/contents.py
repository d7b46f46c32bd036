"""What is in a file, compared or summed up, whatever else is done to it meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat

from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree

CHUNK_BYTES = 1 << 20


def same_content(here: Tree, there: Tree, path: str, was: EntryState) -> bool:
    """Return whether a file has the same bytes in two trees; not if `there` is not as it `was`."""
    try:
        with here.opened(path) as one, there.opened(path) as other:
            return state_of(os.fstat(other)) == was and have_same_bytes(one, other)
    except OSError:
        return False


def have_same_bytes(one: int, other: int) -> bool:
    """Return whether the same is left to be read from two open files.

    Raises:
        OSError: one can't be read.
    """
    while chunk := os.read(one, CHUNK_BYTES):
        if read_up_to(other, len(chunk)) != chunk:
            return False
    return not os.read(other, 1)


def read_up_to(descriptor: int, size: int) -> bytes:
    """Read an open file from where it stands: so many bytes, or fewer at its end.

    Raises:
        OSError: as the kernel reports it.
    """
    data = os.read(descriptor, size)
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def digest(tree: Tree, path: str, kind: str = "sha256", preamble: bytes = b"") -> str:
    """Compute the digest of a regular file in hexadecimal, of a preamble and its content.

    Raises:
        OSError: it is not a regular file, or can't be read.
    """
    with tree.opened(path) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"not a regular file: {path!r}")
        made = hashlib.new(kind, preamble, usedforsecurity=kind == "sha256")
        while chunk := os.read(descriptor, CHUNK_BYTES):
            made.update(chunk)
        return made.hexdigest()


def read_some(tree: Tree, path: str, bytes_max: int) -> bytes | None:
    """Read a small regular file: nothing if none is there; None if it is larger, or not a file."""
    if tree.info(path) is None:
        return b""
    try:
        with tree.opened(path) as descriptor:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = read_up_to(descriptor, bytes_max + 1) if is_file else None
    except OSError:
        return None
    return None if data is None or len(data) > bytes_max else data
