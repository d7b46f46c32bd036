"""An order in a folder, as a Remote Execution server lays it out for a command.

The folder has the file `order` and the folder `project`; what is handed back is put beside them.
Nothing that lies there is written to: it may be linked into the server's own cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import trio

from base.plain_files import open_plain
from executor.model import MIB
from fleet.blob_cache import BlobCache
from fleet.doer import OUTCOME_FILE, OUTPUTS, PROJECT_FOLDER, Doer
from fleet.errors import BlobError
from fleet.seal import SEALED_BYTES_MAX
from fleet.tree import Digest, Entry, TreeError, build

_LATEST = sorted(OUTPUTS, key=lambda name: name == OUTCOME_FILE)


def read_sealed(root: Path, name: str) -> bytes:
    """A sealed order in a folder; of one that is too large, a byte more than is taken.

    Raises:
        OSError: it can't be read, or is no regular file.
    """
    with open_plain(root / name) as file:
        return file.read(SEALED_BYTES_MAX + 1)


async def do_in_folder(doer: Doer, root: Path, name: str) -> None:
    """Have the order in a folder done, and put what is handed back there, the outcome last.

    Raises:
        SealError, BlobError, OSError: as `Doer.do` does; nothing is left there.
    """
    sealed = await trio.to_thread.run_sync(read_sealed, root, name)
    out = root / f".handed-{secrets.token_hex(8)}"
    out.mkdir(mode=0o700)
    try:
        await doer.do(sealed, LaidOutProject(root / PROJECT_FOLDER).fetch, out)
        await trio.to_thread.run_sync(_put, out, root)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(partial(shutil.rmtree, out, ignore_errors=True))


def _put(out: Path, root: Path) -> None:
    for name in _LATEST:
        with contextlib.suppress(FileNotFoundError):
            if (root / name).is_dir():
                (root / name).rmdir()  # the server made it, empty
        with contextlib.suppress(FileNotFoundError):
            (out / name).rename(root / name)


class LaidOutProject:
    """A project that lies in a folder already, from which its blobs are fetched."""

    def __init__(self, folder: Path) -> None:
        """Look at nothing yet."""
        self._folder = folder
        self._folders: Mapping[Digest, bytes] | None = None
        self._files: dict[Digest, str] = {}

    async def fetch(self, digests: frozenset[Digest], cache: BlobCache) -> None:
        """Copy these into a cache; see `doer.Fetch`.

        Raises:
            BlobError: the folder does not hold one of them.
            OSError: it can't be read.
        """
        await trio.to_thread.run_sync(partial(self._fetch, digests, cache))

    def _fetch(self, digests: frozenset[Digest], cache: BlobCache) -> None:
        if self._folders is None:
            self._folders = self._look()
        for digest in digests:
            if (folder := self._folders.get(digest)) is not None:
                cache.add(digest, [folder])
            elif (path := self._files.get(digest)) is not None:
                cache.add(digest, _pieces(f"{self._folder}/{path}"))
            else:
                raise BlobError(f"{digest} is not in {PROJECT_FOLDER}, as it was laid out here")

    def _look(self) -> Mapping[Digest, bytes]:
        """Take the digests of all that lies there; its folders' messages.

        Raises:
            BlobError: it is no tree of plain files.
        """
        try:
            tree = build(self._list(""))
        except TreeError as error:
            raise BlobError(f"{PROJECT_FOLDER}, as it was laid out here: {error}") from error
        return tree.folders

    def _list(self, below: str) -> Iterator[Entry]:
        with os.scandir(f"{self._folder}/{below}") as found:
            entries = list(found)
        for entry in entries:
            path = f"{below}{entry.name}"
            if entry.is_symlink():
                yield Entry(path, target=os.readlink(f"{self._folder}/{path}"))
            elif entry.is_dir():
                yield Entry(path)
                yield from self._list(f"{path}/")
            elif entry.is_file():
                digest = _digest(f"{self._folder}/{path}")
                self._files[digest] = path
                yield Entry(path, digest, bool(entry.stat().st_mode & stat.S_IXUSR))
            else:
                raise BlobError(f"{path[:200]!r} is no file, folder or link")


def _digest(path: str) -> Digest:
    seen, size = hashlib.sha256(), 0
    for piece in _pieces(path):
        seen.update(piece)
        size += len(piece)
    return Digest(seen.hexdigest(), size)


def _pieces(path: str) -> Iterator[bytes]:
    with open_plain(path, follow=False) as file:
        while piece := file.read(MIB):
            yield piece
