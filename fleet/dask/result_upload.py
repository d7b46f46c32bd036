"""Uploads what a worker hands back. Small files go with the answer instead."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import trio

from base.plain_files import open_plain
from executor.model import MIB
from fleet.dask.blobs import FileBlobs
from fleet.tree import Digest

SMALL_BYTES: Final = 16 << 10
"""Of all small files together: Dask's scheduler keeps a thousand answers a front."""

Results = tuple[dict[str, Digest], dict[str, bytes]]
"""Digests of all files by path, and the contents of small ones."""


async def upload_results(out: Path, blobs: FileBlobs) -> Results:
    """Upload the files of a folder, and return the small ones. Links are passed over.

    Small files are those that have `SMALL_BYTES` in all at most.

    Raises:
        BlobError: a file changed meanwhile.
        OSError: one can't be read.
        UnreachableError: the store does not answer.
    """
    if sum(path.stat().st_size for path in _files(out)) <= SMALL_BYTES:
        return _look(out)  # sooner than a thread has its turn
    files, contents = await trio.to_thread.run_sync(_look, out)
    openers = {
        digest: functools.partial(_pieces, out / path)
        for path, digest in files.items()
        if path not in contents
    }
    await blobs.put(openers)
    return files, contents


def _look(out: Path) -> Results:
    """Digest all files, and read the smallest of them."""
    files = {str(path.relative_to(out)): _digest(path) for path in _files(out)}
    contents, room = {}, SMALL_BYTES
    for path, digest in sorted(files.items(), key=lambda one: one[1].size_bytes):
        room -= digest.size_bytes
        if room < 0:
            break
        with open_plain(out / path, follow=False) as file:
            contents[path] = file.read(digest.size_bytes + 1)
    return files, contents


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _pieces(path: Path) -> Iterator[bytes]:
    with open_plain(path, follow=False) as file:
        while piece := file.read(MIB):
            yield piece


def _digest(path: Path) -> Digest:
    found, size = hashlib.sha256(), 0
    for piece in _pieces(path):
        found.update(piece)
        size += len(piece)
    return Digest(found.hexdigest(), size)
