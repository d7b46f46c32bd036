"""Opening below a folder: by the kernel's own call, and folder by folder where that is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.spawner import kernel
from executor.spawner.artifacts import ITSELF
from executor.spawner.kernel import StepError, open_absolute, open_beneath

NO_CALL = 9999
FOLDER = os.O_RDONLY | os.O_DIRECTORY
KINDS = {"file": os.O_RDONLY, "folder": FOLDER, "place": os.O_PATH}


@pytest.fixture(params=["openat2", "step by step", "step by step, links followed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How entries are opened: the last way is gVisor's, which follows a link to a folder."""
    if request.param != "openat2":
        monkeypatch.setattr(kernel, "SYS_OPENAT2", NO_CALL)
    if "followed" in request.param:
        open_it = os.open

        def follow(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if flags & os.O_DIRECTORY and not flags & os.O_PATH:
                flags &= ~os.O_NOFOLLOW
            return open_it(path, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", follow)
    return str(request.param)


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    """A folder with plain entries, and links to them and out."""
    folder = tmp_path / "top"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/file").write_text("x")
    for name, leads_to in {"in": "a/b", "out": "..", "abs": "/etc", "file": "a/b/file"}.items():
        (folder / name).symlink_to(leads_to)
    opened = os.open(folder, FOLDER)
    yield opened
    os.close(opened)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("path", "flags"),
    [("a/b/file", os.O_RDONLY), ("a/b", FOLDER), ("a", os.O_PATH), (".", FOLDER), ("out", ITSELF)],
)
def test_what_is_reached_through_no_link_is_opened(top: int, path: str, flags: int) -> None:
    opened = open_beneath(top, path, flags)
    expected = os.stat(path, dir_fd=top, follow_symlinks=False)
    assert os.path.samestat(os.fstat(opened), expected)
    os.close(opened)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("flags", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "path",
    ["in", "out", "abs", "file", "in/file", "out/top", "abs/passwd", "..", "a/../..", "/etc", ""],
)
def test_a_link_or_a_way_out_is_not_followed(top: int, path: str, flags: int) -> None:
    with pytest.raises(StepError):
        open_beneath(top, path, flags)


@pytest.mark.usefixtures("way")
def test_an_absolute_path_is_followed_through_no_link(top: int, tmp_path: Path) -> None:
    real = Path(os.path.realpath(tmp_path)) / "top"
    os.close(open_absolute(str(real / "a/b"), FOLDER))
    for name in ("in", "in/file", "out"):
        with pytest.raises(StepError):
            open_absolute(str(real / name), os.O_PATH)
