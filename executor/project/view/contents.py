"""What is in a file, compared or summed up, whatever else is done to it meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat

from executor.project.view.record import EntryState, state_of
from executor.project.view.tree import Tree

CHUNK_BYTES = 1 << 20


def same_content(here: Tree, there: Tree, path: str, was: EntryState) -> bool:
    """Whether a file has the same bytes in two trees; not where `there` is not as it `was`."""
    try:
        one = here.open(path)
    except OSError:
        return False
    try:
        other = there.open(path)
    except OSError:
        os.close(one)
        return False
    try:
        if state_of(os.fstat(other)) != was:
            return False
        return have_same_bytes(one, other)
    finally:
        os.close(one)
        os.close(other)


def have_same_bytes(one: int, other: int) -> bool:
    """Whether the same is left to be read from two open files.

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
    """The digest of a regular file in hexadecimal, of a preamble and its content.

    Raises:
        OSError: it is no regular file, or can't be read.
    """
    descriptor = tree.open(path)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"not a regular file: {path!r}")
        made = hashlib.new(kind, preamble, usedforsecurity=kind == "sha256")
        while chunk := os.read(descriptor, CHUNK_BYTES):
            made.update(chunk)
        return made.hexdigest()
    finally:
        os.close(descriptor)


def read_some(tree: Tree, path: str, bytes_max: int) -> bytes | None:
    """All of a small regular file; nothing where none is; None of what is larger, or no file."""
    if tree.info(path) is None:
        return b""
    try:
        descriptor = tree.open(path)
    except OSError:
        return None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > bytes_max:
            return None
        data = read_up_to(descriptor, bytes_max + 1)
        return data if len(data) <= bytes_max else None
    finally:
        os.close(descriptor)
