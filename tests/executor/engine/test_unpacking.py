"""What a box hands back: what is plain arrives, anything else is refused by name."""

from __future__ import annotations

import ast
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from executor.engine.unpacking import take_out, unpack
from executor.model import SandboxError
from executor.spawner import artifacts
from executor.spawner.artifacts import AGAIN, END, ENTRY, FIRST

ROOT = Path(__file__).resolve().parents[3]
FILE, LINK, FOLDER = stat.S_IFREG | 0o755, stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755

Member = tuple[str, int, str]


@contextmanager
def bundled(
    *members: Member, kind: bytes = FIRST, seconds: int = 0, end: bytes | None = None
) -> Iterator[BinaryIO]:
    """A bundle of (name, mode, content or where a link leads); all but the last are first names."""
    packed = io.BytesIO()
    for number, (name, mode, content) in enumerate(members, 1):
        named, said = os.fsencode(name), os.fsencode(content)
        which = kind if number == len(members) else FIRST
        packed.write(ENTRY.pack(which, len(named), mode, seconds, 0, len(said)) + named + said)
    packed.write(ENTRY.pack(END, 0, 0, 0, 0, 0) if end is None else end)
    with tempfile.TemporaryFile() as file:
        file.write(packed.getvalue())
        file.seek(0)
        yield file


def test_files_folders_and_links_arrive(tmp_path: Path):
    with bundled(("a", FOLDER, ""), ("a/run", FILE, "text"), ("a/link", LINK, "run")) as file:
        unpack(file, tmp_path)
    assert (tmp_path / "a/run").read_text() == "text"
    assert (tmp_path / "a/run").stat().st_mode & 0o7777 == 0o755
    assert os.readlink(tmp_path / "a/link") == "run"


def test_what_a_supervisor_packs_arrives_as_it_was(tmp_path: Path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "a/b").mkdir(parents=True)
    target.mkdir()
    (source / "a/b/file").write_bytes(b"x" * 3_000_000)
    os.utime(source / "a/b/file", (1, 2))
    (source / "a/again").hardlink_to(source / "a/b/file")
    (source / "a/link").symlink_to("b/file")
    top = os.open(source, os.O_RDONLY)
    with open(artifacts.pack(top, artifacts.walk(top, os.listdir(top)), 3_000_000), "rb") as file:
        unpack(file, target)
    os.close(top)
    names = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
    assert names == ["a", "a/again", "a/b", "a/b/file", "a/link"]
    assert (target / "a/b/file").read_bytes() == b"x" * 3_000_000
    assert (target / "a/b/file").stat().st_mtime == 2
    assert (target / "a/again").samefile(target / "a/b/file")
    assert os.readlink(target / "a/link") == "b/file"


def test_what_is_larger_than_it_may_be_is_not_packed(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"1234")
    top = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(artifacts.TooLargeError):
        artifacts.pack(top, ["file"], 3)
    os.close(artifacts.pack(top, ["file"], 4))
    os.close(top)


def test_a_second_name_of_a_file_arrives(tmp_path: Path):
    with bundled(("a", FILE, "text"), ("b", FILE, "a"), kind=AGAIN) as file:
        unpack(file, tmp_path)
    assert (tmp_path / "b").samefile(tmp_path / "a")


@pytest.mark.parametrize("to", ["../secret", "door", "missing", "folder", "a\0b", ""])
def test_a_second_name_of_what_is_no_file_of_it_is_refused(tmp_path: Path, to: str):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    members = (("door", LINK, "../secret"), ("folder", FOLDER, ""), ("b", FILE, to))
    with bundled(*members, kind=AGAIN) as file, pytest.raises(SandboxError):
        unpack(file, folder)
    assert not (folder / "b").exists()


def test_what_was_there_is_replaced(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/old").touch()
    (tmp_path / "b").symlink_to("a")
    with bundled(("a", FILE, "new"), ("b", FILE, "new")) as file:
        unpack(file, tmp_path)
    assert [(tmp_path / name).read_text() for name in "ab"] == ["new", "new"]
    assert not (tmp_path / "b").is_symlink()


@pytest.mark.parametrize(
    "name", ["../out", "/out", "a/../../out", "door/out", ".", "", "a//b", "a\0b", "a/"]
)
@pytest.mark.parametrize("as_is", [False, True])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str, as_is: bool):
    folder = tmp_path / "folder"
    folder.mkdir()
    with (
        bundled(("door", LINK, ".."), (name, FILE, "x")) as file,
        pytest.raises(SandboxError, match="leads out"),
    ):
        unpack(file, folder, as_is=as_is)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["door", "folder"]


INSIDE = {
    "beside it": (("a/link", LINK, "file"),),
    "above it": (("a/link", LINK, "../a/b"),),
    "to nothing": (("link", LINK, "missing/../gone"),),
    "by another": (("a/up", LINK, ".."), ("link", LINK, "a/up/a")),
    "in a ring": (("link", LINK, "other"), ("other", LINK, "link")),
}
OUTSIDE = {
    "absolute": (("link", LINK, "/etc/passwd"),),
    "above": (("a/link", LINK, "../../x"),),
    "above what is missing": (("link", LINK, "missing/../../x"),),
    "by another": (("a/b/up", LINK, "../.."), ("link", LINK, "a/b/up/../x")),
    "by one that comes later": (("link", LINK, "z/../x"), ("z", LINK, ".")),
    "by an absolute one": (("out", LINK, "/etc"), ("link", LINK, "out/passwd")),
}


@pytest.mark.parametrize("links", INSIDE.values(), ids=INSIDE)
def test_a_link_that_stays_inside_is_kept(tmp_path: Path, links: tuple[Member, ...]):
    with bundled(("a", FOLDER, ""), ("a/b", FOLDER, ""), *links) as file:
        unpack(file, tmp_path)
    assert [os.readlink(tmp_path / name) for name, _, _ in links] == [to for _, _, to in links]


@pytest.mark.parametrize("links", OUTSIDE.values(), ids=OUTSIDE)
def test_a_link_that_leads_out_is_refused_but_where_a_commit_judges_it(
    tmp_path: Path, links: tuple[Member, ...]
):
    members = (("a", FOLDER, ""), ("a/b", FOLDER, ""), *links)
    with bundled(*members) as file, pytest.raises(SandboxError, match="a link leads out"):
        unpack(file, tmp_path)
    with bundled(*members) as file:
        unpack(file, tmp_path, as_is=True)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (stat.S_IFIFO | 0o644, "neither a file, a folder nor a link"),
        (stat.S_IFCHR | 0o644, "neither a file, a folder nor a link"),
        (stat.S_IFBLK | 0o644, "neither a file, a folder nor a link"),
        (stat.S_IFSOCK | 0o644, "neither a file, a folder nor a link"),
        (0, "neither a file, a folder nor a link"),
        (FILE | stat.S_ISUID, "set-id"),
        (FILE | stat.S_ISGID, "set-id"),
    ],
)
def test_what_is_not_plain_is_refused_by_name(tmp_path: Path, mode: int, words: str):
    with bundled(("odd", mode, "")) as file, pytest.raises(SandboxError, match=f"{words}.*'odd'"):
        unpack(file, tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_copy_of_a_project_keeps_files_without_their_special_modes(tmp_path: Path):
    with bundled(("run", FILE | stat.S_ISUID, "x"), seconds=1 << 40) as file:
        unpack(file, tmp_path, as_is=True)
    assert (tmp_path / "run").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("seconds", [(1 << 63) - 1, -(1 << 63), 1 << 34])
def test_a_time_that_no_file_system_has_is_refused(tmp_path: Path, seconds: int):
    with (
        bundled(("a", FILE, ""), seconds=seconds) as file,
        pytest.raises(SandboxError, match="time"),
    ):
        unpack(file, tmp_path)


@pytest.mark.parametrize(
    ("to", "words"), [("a\0b", "NUL"), ("", "invalid target"), ("x" * 5000, "invalid target")]
)
def test_a_link_that_is_none_is_refused(tmp_path: Path, to: str, words: str):
    with bundled(("link", LINK, to)) as file, pytest.raises(SandboxError, match=words):
        unpack(file, tmp_path)


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"x",
        ENTRY.pack(b"?", 1, FILE, 0, 0, 0) + b"a",
        ENTRY.pack(FIRST, 1, FILE, 0, 0, 1 << 62) + b"a",
        ENTRY.pack(FIRST, 1 << 31, FILE, 0, 0, 0) + b"a",
    ],
)
def test_a_bundle_that_is_cut_short_or_lies_of_its_sizes_is_refused(tmp_path: Path, end: bytes):
    with bundled(end=end) as file, pytest.raises(SandboxError, match="the returned bundle"):
        unpack(file, tmp_path)


def test_more_bytes_than_may_be_handed_back_are_refused(tmp_path: Path):
    with bundled(("a", FILE, "12"), ("b", FILE, "34")) as file:
        unpack(file, tmp_path, 4)
        file.seek(0)
        with pytest.raises(SandboxError, match="more bytes"):
            unpack(file, tmp_path, 3)


def test_a_folder_that_is_a_link_is_not_filled(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with bundled(("a", FILE, "x")) as file, pytest.raises(OSError, match="Not a directory"):
        unpack(file, tmp_path / "link")
    assert os.listdir(tmp_path / "real") == []


def test_only_what_is_below_the_folder_is_taken_out(tmp_path: Path):
    folder = tmp_path / "folder"
    (folder / "a/b").mkdir(parents=True)
    (tmp_path / "out").touch()
    (folder / "door").symlink_to("..")
    for name in ("a/b", "gone", "gone/too", "door"):
        take_out(folder, name)
    assert os.listdir(folder) == ["a"]
    (folder / "door").symlink_to("..")
    for name in ("../out", "door/out", "/out"):
        with pytest.raises(SandboxError, match="leads out"):
            take_out(folder, name)
    assert (tmp_path / "out").exists()


def test_nothing_asks_tarfile_for_filters_that_the_oldest_python_lacks():
    """They came with 3.11.4; Debian 12 has 3.11.2."""
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("ctxmode", "executor", "policy", "kb", "runtimes", "images")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("extract", "extractall")
        and any(keyword.arg == "filter" for keyword in node.keywords)
    ]
    assert asked == []
