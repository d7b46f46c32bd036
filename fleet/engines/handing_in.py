"""Giving an engine what a worker hands back. Small files go with the answer, too."""

from __future__ import annotations

import functools
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trio

from base.plain_files import open_plain
from executor.model import MIB
from fleet.dispatcher import Blobs, Open
from fleet.tree import Digest

SMALL_BYTES: Final = 16 << 10
"""Of all small files together: engines keep answers for a while, Dask's scheduler a thousand a
front."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """Digests of files by path, and the `contents` of small ones."""

    files: dict[str, Digest]
    contents: dict[str, bytes] = field(default_factory=dict)


async def hand_in(out: Path, blobs: Blobs, *, keeps_small: bool) -> HandedIn:
    """Have an engine keep the files of a folder. Links are passed over.

    Small files are those that have `SMALL_BYTES` in all at most. They are not given to it, but
    where it `keeps_small` ones.

    Raises:
        BlobError: a file changed meanwhile.
        OSError: one can't be read.
        UnreachableError: the engine does not answer.
    """
    if sum(path.stat().st_size for path in _files(out)) <= SMALL_BYTES:
        handed = _look(out)  # sooner than a thread has its turn
    else:
        handed = await trio.to_thread.run_sync(_look, out)
    large = {path: one for path, one in handed.files.items() if path not in handed.contents}
    lacking = await blobs.missing(large.values()) if large else frozenset()
    openers: dict[Digest, Open] = {
        digest: functools.partial(open_plain, out / path, follow=False)
        for path, digest in large.items()
        if digest in lacking
    }
    for path, content in handed.contents.items() if keeps_small else ():
        openers[handed.files[path]] = functools.partial(io.BytesIO, content)
    if openers:
        await blobs.put(openers)
    return handed


def _look(out: Path) -> HandedIn:
    """Digest all files, and read the smallest of them."""
    handed = HandedIn({str(path.relative_to(out)): _digest(path) for path in _files(out)})
    room = SMALL_BYTES
    for path, digest in sorted(handed.files.items(), key=lambda one: one[1].size_bytes):
        room -= digest.size_bytes
        if room < 0:
            break
        with open_plain(out / path, follow=False) as file:
            handed.contents[path] = file.read(digest.size_bytes + 1)
    return handed


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
