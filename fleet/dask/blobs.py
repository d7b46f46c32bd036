"""Blobs in a folder that all machines of a cluster reach, by any URL that fsspec supports.

A blob is a file named by its digest. It gets that name when it is whole: by a rename, or where a
store of objects shows nothing before its end.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from typing import Any, Final, TypeVar

import fsspec
import trio

from fleet.blob_cache import BlobCache
from fleet.cluster import ClusterError, UnreachableError, single_error
from fleet.model import Open
from fleet.tree import BlobError, Digest, digest_of, prove

ANSWER_S: Final = 20.0
"""Time limit for one answer of a store; each MiB of a blob adds a second."""
_PIECE: Final = 1 << 20
_AT_ONCE: Final = 8
_TRIAL: Final = b"context-mode\n"
# Stores that show an object only when it is complete, and in which a rename is a copy.
_WHOLE: Final = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory"}

T = TypeVar("T")


class FileBlobs:
    """The blobs in one folder of a file system."""

    def __init__(self, url: str) -> None:
        """Set the folder without contacting the store.

        Raises:
            ClusterError: no file system matches the URL, or its package is not installed.
        """
        hint = "Use a URL such as s3://bucket/folder or file:///shared/folder."
        try:
            self._files, self._folder = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise ClusterError(f"cluster.blobs: {error}", "Install it on all machines.") from None
        except Exception as error:
            raise ClusterError(f"cluster.blobs cannot be used: {error}", hint) from None
        protocols = self._files.protocol
        names = {protocols} if isinstance(protocols, str) else set(protocols)
        self._is_whole = bool(names & _WHOLE)
        self._limiter = trio.CapacityLimiter(_AT_ONCE)
        self._made: set[str] = set()

    async def check(self) -> None:
        """Check that a blob can be stored and read.

        Raises:
            ClusterError: it cannot.
        """
        digest = digest_of(_TRIAL)
        try:
            await self.put({digest: lambda: [_TRIAL]})
            await self.get(digest, len)
        except (BlobError, UnreachableError) as error:
            raise ClusterError(
                f"cluster.blobs cannot be used: {error}", "Let all its machines write to it."
            ) from None

    async def missing(self, digests: Iterable[Digest]) -> frozenset[Digest]:
        """Return the digests that are not stored.

        Raises:
            UnreachableError: the store does not answer.
        """
        wanted = list(dict.fromkeys(digests))
        lacking: set[Digest] = set()

        async def look(some: list[Digest]) -> None:
            is_there = functools.partial(self._has_all, some)
            found = await self._in_thread(is_there, size_bytes=len(some) * _PIECE)
            lacking.update(one for one, has in zip(some, found, strict=True) if not has)

        await _each(look, [part for n in range(_AT_ONCE) if (part := wanted[n::_AT_ONCE])])
        return frozenset(lacking)

    async def put(self, blobs: Mapping[Digest, Open]) -> None:
        """Store blobs. Storing a blob again is harmless.

        Raises:
            BlobError: a content does not match its digest, such as that of a file that has changed.
            OSError: a content cannot be read.
            UnreachableError: the store does not answer.
        """

        async def put_one(blob: tuple[Digest, Open]) -> None:
            await self._in_thread(functools.partial(self._put, *blob), blob[0].size_bytes)

        await _each(put_one, blobs.items())

    async def get(self, digest: Digest, write: Callable[[bytes], object]) -> None:
        """Pass a blob to `write`, in pieces of up to 1 MiB. All are void if this raises.

        Raises:
            BlobError: the blob is missing, or does not match its digest.
            UnreachableError: the store does not answer.
        """
        pieces = prove(digest, self._pieces(digest))
        try:
            while piece := await self._in_thread(lambda: next(pieces, b""), _PIECE):
                write(piece)
        finally:
            pieces.close()

    async def fetch(self, digests: frozenset[Digest], cache: BlobCache) -> None:
        """Fetch blobs into a worker's cache; see `Fetch`."""

        async def fetch_one(digest: Digest) -> None:
            keep = functools.partial(cache.add, digest, self._pieces(digest))
            await self._in_thread(keep, digest.size_bytes)

        await _each(fetch_one, digests)

    async def _in_thread(self, function: Callable[[], T], size_bytes: int) -> T:
        """Run a call to the store in a thread.

        Raises:
            UnreachableError: it takes too long.
        """
        deadline_s = ANSWER_S + size_bytes / _PIECE
        try:
            with trio.fail_after(deadline_s):
                return await trio.to_thread.run_sync(
                    function, abandon_on_cancel=True, limiter=self._limiter
                )
        except trio.TooSlowError:
            raise UnreachableError(f"no answer within {deadline_s:.0f} s") from None

    def _has_all(self, digests: list[Digest]) -> list[bool]:
        return [self._has(digest) for digest in digests]

    def _has(self, digest: Digest) -> bool:
        try:
            return bool(_ask(self._files.info, self._place(digest))["size"] == digest.size_bytes)
        except _AbsentError:
            return False

    def _put(self, digest: Digest, opener: Open) -> None:
        if self._has(digest):
            return
        place = self._place(digest)
        beside = place if self._is_whole else f"{place}.{os.urandom(8).hex()}.new"
        self._make_folder(place)
        try:
            self._copy(digest, opener, beside)
            if beside != place:
                _ask(self._files.mv, beside, place)
        except BaseException:
            with contextlib.suppress(Exception):
                self._files.rm(beside)
            raise

    def _copy(self, digest: Digest, opener: Open, to: str) -> None:
        target = _ask(self._files.open, to, "wb")
        try:
            for piece in prove(digest, opener()):
                _ask(target.write, piece)
        finally:
            _ask(target.close)

    def _pieces(self, digest: Digest) -> Generator[bytes]:
        try:
            file = _ask(self._files.open, self._place(digest), "rb")
        except _AbsentError:
            raise BlobError(f"{digest} is not in {self._folder}") from None
        with file:
            while piece := _ask(file.read, _PIECE):
                yield piece

    def _make_folder(self, place: str) -> None:
        folder = place.rpartition("/")[0]
        if not self._is_whole and folder not in self._made:
            _ask(functools.partial(self._files.makedirs, exist_ok=True), folder)
            self._made.add(folder)

    def _place(self, digest: Digest) -> str:
        return f"{self._folder}/{digest.hash[:2]}/{digest.hash}-{digest.size_bytes}"


class _AbsentError(UnreachableError):
    """A file, or a folder on the way to it, is missing."""


def _ask(function: Callable[..., Any], *given: object) -> Any:  # noqa: ANN401 - a file system's
    """Call a function of the file system.

    Raises:
        UnreachableError: for any exception that the call raises.
    """
    try:
        return function(*given)
    except FileNotFoundError as error:
        raise _AbsentError(str(error)) from None
    except Exception as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from error


async def _each(do: Callable[[T], Awaitable[None]], many: Iterable[T]) -> None:
    """Do something with each of many, some at a time; stop at the first error and raise it."""
    with single_error():
        async with trio.open_nursery() as nursery:
            for given in many:
                nursery.start_soon(do, given)
