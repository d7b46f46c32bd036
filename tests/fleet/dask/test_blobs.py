"""Blobs as files below a URL: whole or not there, and never taken for what they are not."""

from __future__ import annotations

import functools
import io
import os
from pathlib import Path

import fsspec
import pytest

from fleet.blob_cache import BlobCache
from fleet.cluster import ClusterError, UnreachableError
from fleet.dask.blobs import FileBlobs
from fleet.tree import BlobError, Digest, digest_of

SIZES = [0, 1, 1 << 20, (1 << 20) + 1, 5_000_000]


@pytest.fixture(params=["file", "memory"])
def url(request, tmp_path) -> str:
    """A folder of this machine, and a store that shows objects when they are whole."""
    if request.param == "file":
        return (tmp_path / "blobs").as_uri()
    return f"memory://{tmp_path.name}"


@pytest.fixture
def blobs(url) -> FileBlobs:
    return FileBlobs(url)


def named(*contents: bytes) -> dict:
    return {digest_of(data): functools.partial(io.BytesIO, data) for data in contents}


async def read(blobs: FileBlobs, digest: Digest) -> bytes:
    data = io.BytesIO()
    await blobs.get(digest, data.write)
    return data.getvalue()


def files_of(url: str) -> list[str]:
    files, folder = fsspec.core.url_to_fs(url)
    return [Path(path).name for path in files.find(folder)]


async def test_blobs_of_all_sizes_come_back_as_they_were(blobs, url, tmp_path):
    contents = [os.urandom(size) for size in SIZES]
    await blobs.check()
    assert await blobs.missing(named(*contents)) == set(named(*contents))
    await blobs.put(named(*contents))
    await blobs.put(named(*contents))  # which takes nothing away
    assert await blobs.missing(named(*contents, b"absent")) == {digest_of(b"absent")}
    for data in contents:
        assert await read(blobs, digest_of(data)) == data
    cache = BlobCache(tmp_path / "cache")
    await blobs.fetch(frozenset(map(digest_of, contents)), cache)
    assert all(cache.has(digest_of(data)) for data in contents)
    assert len(files_of(url)) == len(contents) + 1  # that of the check


async def test_blobs_that_are_absent_are_told(blobs, tmp_path):
    await blobs.check()
    absent = digest_of(b"absent")
    with pytest.raises(BlobError, match=absent.hash):
        await read(blobs, absent)
    with pytest.raises(BlobError, match=absent.hash):
        await blobs.fetch(frozenset([absent]), BlobCache(tmp_path / "cache"))


@pytest.mark.parametrize("other", [b"shorter"[:3], b"longer than", b"anothr"])
async def test_a_content_that_changed_meanwhile_leaves_nothing(blobs, url, other):
    digest = digest_of(b"change")
    with pytest.raises(BlobError, match="does not match it"):
        await blobs.put({digest: functools.partial(io.BytesIO, other)})
    assert files_of(url) == []


async def test_a_file_that_is_cut_short_counts_as_missing_and_is_put_again(blobs, url):
    await blobs.put(named(b"whole"))
    digest = digest_of(b"whole")
    files, folder = fsspec.core.url_to_fs(url)
    files.pipe_file(f"{folder}/{digest.hash[:2]}/{digest.hash}-5", b"who")
    with pytest.raises(BlobError, match="does not match it"):
        await read(blobs, digest)
    assert await blobs.missing([digest]) == {digest}
    await blobs.put(named(b"whole"))
    assert await read(blobs, digest) == b"whole"


async def test_a_source_that_cannot_be_read_is_told_as_it_is(blobs, tmp_path):
    with pytest.raises(FileNotFoundError):
        await blobs.put({digest_of(b"x"): functools.partial(open, tmp_path / "none", "rb")})


async def test_a_cache_without_room_is_told_as_it_is(blobs, tmp_path, monkeypatch):
    await blobs.put(named(b"x"))
    cache = BlobCache(tmp_path / "cache")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "add", full)
    with pytest.raises(OSError, match="No space"):
        await blobs.fetch(frozenset([digest_of(b"x")]), cache)


async def test_a_store_that_breaks_is_told_as_one(tmp_path):
    (tmp_path / "blobs").write_text("a file where the folder is to be")
    blobs = FileBlobs((tmp_path / "blobs").as_uri())
    with pytest.raises(UnreachableError):
        await blobs.put(named(b"x"))
    with pytest.raises(ClusterError, match=r"cluster\.blobs cannot be used"):
        await blobs.check()


@pytest.mark.parametrize("url", ["nothing://x", "s3://bucket/folder"])
def test_a_url_that_no_installed_file_system_knows_is_told(url):
    with pytest.raises(ClusterError, match=r"cluster\.blobs"):
        FileBlobs(url)
