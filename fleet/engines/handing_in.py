"""Giving an engine what a worker hands back."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

import trio

from base.plain_files import open_plain
from executor.model import MIB
from fleet.dispatcher import Blobs
from fleet.tree import Digest


async def hand_in(out: Path, blobs: Blobs) -> dict[str, Digest]:
    """Have an engine keep the files of a folder; their digests by path. Links are passed over.

    Raises:
        BlobError: a file changed meanwhile.
        OSError: one can't be read.
        UnreachableError: the engine does not answer.
    """
    found = await trio.to_thread.run_sync(_digest_all, out)
    lacking = await blobs.missing(found.values())
    openers = {
        digest: functools.partial(open_plain, out / path, follow=False)
        for path, digest in found.items()
        if digest in lacking
    }
    await blobs.put(openers)
    return found


def _digest_all(out: Path) -> dict[str, Digest]:
    return {str(path.relative_to(out)): _digest(path) for path in _files(out)}


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _digest(path: Path) -> Digest:
    found, size = hashlib.sha256(), 0
    with open_plain(path, follow=False) as file:
        while piece := file.read(MIB):
            found.update(piece)
            size += len(piece)
    return Digest(found.hexdigest(), size)
