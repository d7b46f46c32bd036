"""An order in a server's folder: its project is proven by digest, and nothing there is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.blob_cache import BlobCache
from fleet.doer import ARTIFACTS_FOLDER, OUTCOME_FILE, Fetch
from fleet.errors import BlobError
from fleet.exec_root import LaidOutProject, do_in_folder
from fleet.layout import find_missing, lay_out
from fleet.seal import SEALED_BYTES_MAX
from fleet.tree import Digest, digest_of


class FakeDoer:
    """Hands back some files, having looked at nothing."""

    def __init__(self, *names: str, error: Exception | None = None) -> None:
        self.names = names
        self.error = error
        self.sealed = b""

    async def do(self, sealed: bytes, _fetch: Fetch, out: Path) -> None:
        self.sealed = sealed
        for name in self.names:
            (out / name).parent.mkdir(exist_ok=True)
            (out / name).write_text(name)
        if self.error:
            raise self.error


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "order").write_bytes(b"sealed")
    return folder


def fill(project: Path) -> None:
    (project / "sub" / "deep").mkdir(parents=True)
    (project / "empty").mkdir()
    (project / "sub" / "deep" / "a").write_text("one")
    (project / "run").write_text("#!/bin/sh\n")
    (project / "run").chmod(0o755)
    (project / "link").symlink_to("sub/deep/a")
    (project / "away").symlink_to("/etc/passwd")


def state_of(folder: Path) -> list[tuple[object, ...]]:
    return sorted(
        (str(path.relative_to(folder)), info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino)
        for path in folder.rglob("*")
        for info in [path.lstat()]
    )


async def bring(project: Path, root: Digest, cache: BlobCache) -> None:
    fetch = LaidOutProject(project).fetch
    while missing := find_missing(root, cache):
        await fetch(missing, cache)


async def test_a_project_comes_as_the_snapshot_has_it(
    project: Path, snap: Callable, tmp_path: Path
):
    fill(project)
    before = state_of(project)
    wanted, cache = snap().tree.root, BlobCache(tmp_path / "cache")
    await bring(project, wanted, cache)
    lay_out(wanted, cache, tmp_path / "laid")
    shown = sorted(str(path.relative_to(project)) for path in project.rglob("*"))
    assert sorted(
        str(p.relative_to(tmp_path / "laid")) for p in (tmp_path / "laid").rglob("*")
    ) == (shown)
    assert state_of(project) == before


@pytest.mark.parametrize(
    "harm",
    [
        lambda project: (project / "run").write_text("#!/bin/sh\nrm -rf /\n"),
        lambda project: (project / "run").chmod(0o644),
        lambda project: (project / "late").write_text("one more"),
        lambda project: (project / "empty").rmdir(),
        lambda project: (project / "link").unlink(),
        lambda project: os.mkfifo(project / "fifo"),
    ],
)
async def test_a_project_that_is_not_as_it_was_sealed_is_refused(
    project: Path, snap: Callable, tmp_path: Path, harm: Callable
):
    fill(project)
    wanted = snap().tree.root
    harm(project)
    with pytest.raises(BlobError):
        await bring(project, wanted, BlobCache(tmp_path / "cache"))


async def test_a_blob_that_is_not_there_is_told(project: Path, tmp_path: Path):
    fetch = LaidOutProject(project).fetch
    with pytest.raises(BlobError, match="not in project"):
        await fetch(frozenset([digest_of(b"other")]), BlobCache(tmp_path / "cache"))


async def test_what_is_handed_back_lies_beside_the_order(root: Path):
    (root / ARTIFACTS_FOLDER).mkdir()  # as a server makes it ahead
    doer = FakeDoer(OUTCOME_FILE, "stdout", "artifacts/01-a")
    await do_in_folder(doer, root, "order")
    assert doer.sealed == b"sealed"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == [
        "artifacts/01-a",
        "order",
        OUTCOME_FILE,
        "stdout",
    ]


async def test_what_fails_leaves_nothing(root: Path):
    with pytest.raises(BlobError):
        await do_in_folder(FakeDoer("stdout", error=BlobError("gone")), root, "order")
    assert [path.name for path in root.iterdir()] == ["order"]


async def test_no_more_of_an_order_is_read_than_is_taken(root: Path):
    doer = FakeDoer()
    with (root / "order").open("r+b") as file:
        file.truncate(SEALED_BYTES_MAX * 4)
    await do_in_folder(doer, root, "order")
    assert len(doer.sealed) == SEALED_BYTES_MAX + 1
