"""Blobs by digest in a folder that belongs to a worker, and to no program that it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from executor.model import GIB
from fleet.errors import BlobError
from fleet.tree import Digest, prove

BYTES_MAX = 10 * GIB
_UNFINISHED = ".new"


def make_own(folder: Path, mode: int) -> None:
    """Make a folder with these permissions, or give them to it.

    Raises:
        OSError: it can't be made, or belongs to somebody else.
    """
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    if os.stat(folder).st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    os.chmod(folder, mode)


class BlobCache:
    """Keeps blobs as files named by digest; several processes may use one folder at once.

    What was added is proven by its digest once, and trusted from then on.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder, made where it is missing, that nobody else can enter.

        Raises:
            OSError: it can't be made, or belongs to somebody else.
        """
        make_own(folder, 0o700)
        self._folder = folder

    def has(self, digest: Digest) -> bool:
        """Whether a blob is there; it counts as used."""
        try:
            os.utime(self._place(digest))
        except FileNotFoundError:
            return False
        return True

    def open(self, digest: Digest) -> BinaryIO:
        """A blob, for reading.

        Raises:
            BlobError: it is not there, as where others had to have its room.
        """
        try:
            return open(self._place(digest), "rb", buffering=0)
        except FileNotFoundError:
            raise BlobError(f"{digest} is not in the worker's cache") from None

    def add(self, digest: Digest, pieces: Iterable[bytes]) -> None:
        """Keep a blob, if its content is what the digest says; else nothing is left of it.

        Raises:
            BlobError: it is not.
            OSError: there is no room.
        """
        place = self._place(digest)
        beside = place.with_name(f"{place.name}.{os.urandom(8).hex()}{_UNFINISHED}")
        place.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            with open(beside, "xb") as out:
                out.writelines(prove(digest, pieces))
            os.rename(beside, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    def trim(self, bytes_max: int = BYTES_MAX) -> int:
        """Remove what was used longest ago until the rest fits; how many bytes were removed."""
        found = []
        for path in self._folder.glob("??/*"):
            with contextlib.suppress(FileNotFoundError):
                info = os.stat(path)
                found.append((info.st_mtime_ns, info.st_size, path))
        excess, removed = sum(size for _, size, _ in found) - bytes_max, 0
        for _, size, path in sorted(found):
            if removed >= excess:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            removed += size
        return removed

    def _place(self, digest: Digest) -> Path:
        return self._folder / digest.hash[:2] / f"{digest.hash}-{digest.size_bytes}"
