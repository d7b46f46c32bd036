"""A tree of digests becomes the folder that it was made of, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from executor.project.view.tree import DEPTH_MAX
from fleet import blob_cache
from fleet.blob_cache import LAID_OUT_NS, BlobCache, find_missing, renew
from fleet.snapshot import Snapshot
from fleet.tree import BlobError, Digest, Entry, TreeError, digest_of, encode_tree
from tests.fleet.conftest import Take
from tests.fleet.laying_out import lay_out


@pytest.fixture
def cache(tmp_path: Path) -> BlobCache:
    return BlobCache(tmp_path / "cache")


def fetch_all(snapshot: Snapshot, cache: BlobCache) -> list[int]:
    """What a worker does before it lays a tree out; how many blobs were fetched each time."""
    rounds = []
    while missing := find_missing(snapshot.root, cache):
        rounds.append(len(missing))
        for digest in missing:
            cache.add(digest, snapshot.read(digest))
    return rounds


def add_tree(cache: BlobCache, entries: list[Entry]) -> Digest:
    encoded = encode_tree(entries)
    cache.add(digest_of(encoded), [encoded])
    return digest_of(encoded)


def look(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def test_a_project_arrives_as_it_was(project: Path, snap: Take, cache: BlobCache, tmp_path: Path):
    (project / "a" / "b" / "empty").mkdir(parents=True)
    (project / "a" / "run.sh").write_text("echo\n")
    (project / "a" / "run.sh").chmod(0o755)
    (project / "big").write_bytes(os.urandom(3 << 20))
    (project / "link").symlink_to("a/run.sh")
    (project / "out").symlink_to("/etc")
    snapshot = snap()
    assert fetch_all(snapshot, cache) == [1, 2]
    lay_out(snapshot.root, cache, tmp_path / "laid")
    assert look(tmp_path / "laid") == look(project)
    assert (tmp_path / "laid/a/run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "laid/big").stat().st_mode & 0o777 == 0o644
    assert {path.stat(follow_symlinks=False).st_mtime_ns for path in (tmp_path / "laid/a").iterdir()
            } == {LAID_OUT_NS}  # fmt: skip


def test_only_what_a_worker_lacks_is_fetched(project: Path, snap: Take, cache: BlobCache):
    for n in range(20):
        (project / f"{n}").write_text(str(n))
    assert sum(fetch_all(snap(), cache)) == 21
    assert fetch_all(snap(), cache) == []
    (project / "3").write_text("new")
    assert fetch_all(snap(), cache) == [1, 1]


def test_what_a_run_writes_leaves_the_cache_as_it_was(cache: BlobCache, tmp_path: Path):
    content = digest_of(b"x")
    cache.add(content, [b"x"])
    root = add_tree(cache, [Entry("a", content), Entry("b", content)])
    lay_out(root, cache, tmp_path / "one")
    assert (tmp_path / "one/a").stat().st_nlink == 1
    with open(tmp_path / "one/a", "r+b") as file:
        file.write(b"evil")
    lay_out(root, cache, tmp_path / "two")
    assert look(tmp_path / "two") == {"a": b"x", "b": b"x"}


def test_nothing_is_left_of_a_tree_that_lacks_a_blob(cache: BlobCache, tmp_path: Path):
    here, gone = digest_of(b"x"), digest_of(b"gone")
    cache.add(here, [b"x"])
    root = add_tree(cache, [Entry("a", here), Entry("b", gone)])
    assert find_missing(root, cache) == {gone}
    with pytest.raises(BlobError, match=str(gone)):
        lay_out(root, cache, tmp_path / "laid")
    assert not (tmp_path / "laid").exists()


def test_a_folder_that_is_there_is_not_touched(cache: BlobCache, tmp_path: Path):
    (tmp_path / "laid").mkdir()
    (tmp_path / "laid/mine").touch()
    with pytest.raises(FileExistsError):
        lay_out(add_tree(cache, []), cache, tmp_path / "laid")
    assert (tmp_path / "laid/mine").exists()


STATES: tuple[tuple[Entry, ...], ...] = (
    (),
    (Entry("a", digest_of(b"1")), Entry("d/e/f", digest_of(b"1")), Entry("l", target="a")),
    (Entry("a", digest_of(b"2")), Entry("d/e/f", digest_of(b"1")), Entry("l", target="d")),
    (Entry("a", digest_of(b"1"), True), Entry("d/e/g", digest_of(b"2")), Entry("d/e/f")),
    (Entry("a/b", digest_of(b"1")), Entry("d", target="a"), Entry("l/x", digest_of(b"2"))),
    (Entry("a", target="l"), Entry("d", digest_of(b"1")), Entry("l", digest_of(b"2"))),
)


def described(folder: Path) -> dict[str, tuple[object, int, int]]:
    """What is there, with modes and times."""
    info = {name: os.lstat(folder / name) for name in look(folder)}
    return {
        name: (
            content,
            info[name].st_mode,
            0 if isinstance(content, str) else info[name].st_mtime_ns,
        )
        for name, content in look(folder).items()
    }


@pytest.mark.parametrize("old", STATES)
@pytest.mark.parametrize("new", STATES)
def test_a_renewed_folder_is_as_one_laid_out_anew(
    cache: BlobCache, tmp_path: Path, old: tuple[Entry, ...], new: tuple[Entry, ...]
):
    for blob in (b"1", b"2"):
        cache.add(digest_of(blob), [blob])
    roots = [add_tree(cache, list(state)) for state in (old, new)]
    lay_out(roots[0], cache, tmp_path / "renewed")
    lay_out(roots[1], cache, tmp_path / "anew")
    renew(tmp_path / "renewed", roots[0], roots[1], cache)
    assert described(tmp_path / "renewed") == described(tmp_path / "anew")


def test_what_does_not_differ_is_not_written(cache: BlobCache, tmp_path: Path):
    for blob in (b"1", b"2"):
        cache.add(digest_of(blob), [blob])
    roots = [
        add_tree(cache, [Entry("same/a", digest_of(b"1")), Entry("b/c", digest_of(blob))])
        for blob in (b"1", b"2")
    ]
    lay_out(roots[0], cache, tmp_path / "laid")
    before = (tmp_path / "laid/same/a").stat()
    renew(tmp_path / "laid", roots[0], roots[1], cache)
    assert (tmp_path / "laid/same/a").stat() == before
    assert (tmp_path / "laid/b/c").read_bytes() == b"2"


def test_nothing_is_left_of_a_folder_that_cannot_be_renewed(cache: BlobCache, tmp_path: Path):
    cache.add(digest_of(b"1"), [b"1"])
    old = add_tree(cache, [Entry("a", digest_of(b"1"))])
    for new in (add_tree(cache, [Entry("a", digest_of(b"gone"))]), nested(cache, DEPTH_MAX + 1)):
        lay_out(old, cache, tmp_path / "laid")
        with pytest.raises((BlobError, TreeError)):
            renew(tmp_path / "laid", old, new, cache)
        assert not (tmp_path / "laid").exists()


def nested(cache: BlobCache, depth: int) -> Digest:
    """A folder in a folder, and so on."""
    return add_tree(cache, [Entry("/".join(["0"] * depth))])


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, DEPTH_MAX + 400])
def test_a_tree_that_is_too_deep_is_refused(cache: BlobCache, tmp_path: Path, depth: int):
    with pytest.raises(TreeError):
        find_missing(nested(cache, depth), cache)
    with pytest.raises(TreeError):
        lay_out(nested(cache, depth), cache, tmp_path / "laid")
    assert not (tmp_path / "laid").exists()


def test_a_tree_of_too_many_bytes_is_refused(
    cache: BlobCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    content = digest_of(b"xyz")
    cache.add(content, [b"xyz"])
    root = add_tree(cache, [Entry(f"{n}", content) for n in range(10)])
    monkeypatch.setattr(blob_cache, "TREE_BYTES_MAX", 29)
    with pytest.raises(TreeError):
        find_missing(root, cache)
    with pytest.raises(TreeError):
        lay_out(root, cache, tmp_path / "laid")
    assert not (tmp_path / "laid").exists()
    monkeypatch.setattr(blob_cache, "TREE_BYTES_MAX", 30)
    lay_out(root, cache, tmp_path / "laid")


def test_the_deepest_tree_that_travels_is_laid_out(cache: BlobCache, tmp_path: Path):
    lay_out(nested(cache, DEPTH_MAX), cache, tmp_path / "laid")
    assert (tmp_path / "laid").joinpath(*["0"] * DEPTH_MAX).is_dir()


def test_what_would_be_fetched_is_bounded(cache: BlobCache, tmp_path: Path):
    huge = Digest("0" * 64, 2**62)
    root = add_tree(cache, [Entry("a", huge)])
    with pytest.raises(TreeError):
        find_missing(root, cache)
    with pytest.raises(TreeError):
        find_missing(huge, cache)
    with pytest.raises(TreeError):
        lay_out(root, cache, tmp_path / "laid")


def test_a_blob_that_is_no_list_is_refused(cache: BlobCache, tmp_path: Path):
    content = digest_of(b"\x91")
    cache.add(content, [b"\x91"])
    with pytest.raises(TreeError):
        find_missing(content, cache)
    with pytest.raises(TreeError):
        lay_out(content, cache, tmp_path / "laid")


@pytest.mark.parametrize("pieces", [[], [b"y"], [b"x", b"y"], [b"x" * 100]])
def test_another_content_is_not_kept(cache: BlobCache, tmp_path: Path, pieces: list[bytes]):
    with pytest.raises(BlobError):
        cache.add(digest_of(b"x"), pieces)
    assert not cache.has(digest_of(b"x"))
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_fetch_that_breaks_leaves_nothing(cache: BlobCache, tmp_path: Path):
    def broken():
        yield b"x"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        cache.add(digest_of(b"xy"), broken())
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_what_was_used_longest_ago_goes_first(cache: BlobCache, tmp_path: Path):
    blobs = [b"%d" % n * 10 for n in range(4)]
    for age, blob in enumerate(blobs):
        cache.add(digest_of(blob), [blob])
        (place,) = (tmp_path / "cache").glob(f"??/{digest_of(blob).hash}*")
        os.utime(place, ns=(age, age))
    assert cache.has(digest_of(blobs[0]))  # which is a use
    assert cache.trim(20) == 20
    assert [cache.has(digest_of(blob)) for blob in blobs] == [True, False, False, True]
    assert cache.trim(20) == 0


def test_the_caches_folder_is_closed_to_others(tmp_path: Path):
    (tmp_path / "cache").mkdir(mode=0o755)
    BlobCache(tmp_path / "cache")
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
