"""Archives that programs had a hand in: what is plain arrives, what leads out is refused."""

from __future__ import annotations

import ast
import io
import os
import tarfile
from pathlib import Path

import pytest

from executor.errors import SandboxError
from executor.instance.unpacking import unpack

ROOT = Path(__file__).resolve().parents[3]


def archive(*members: tuple[str, bytes, str]) -> tarfile.TarFile:
    """An open archive of (name, kind, content or where a link leads)."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o4755
            if kind == tarfile.REGTYPE:
                info.size = len(content)
            else:
                info.linkname = content
            tar.addfile(info, io.BytesIO(content.encode()))
    held.seek(0)
    return tarfile.open(fileobj=held)


def test_files_folders_and_links_arrive_without_special_modes(tmp_path: Path):
    with archive(
        ("a", tarfile.DIRTYPE, ""),
        ("a/run", tarfile.REGTYPE, "text"),
        ("a/link", tarfile.SYMTYPE, "run"),
        ("pipe", tarfile.FIFOTYPE, ""),
    ) as tar:
        unpack(tar, tmp_path)
    assert (tmp_path / "a/run").read_text() == "text"
    assert (tmp_path / "a/run").stat().st_mode & 0o7777 == 0o755
    assert os.readlink(tmp_path / "a/link") == "run"
    assert not (tmp_path / "pipe").exists()


def test_a_second_name_of_a_file_arrives(tmp_path: Path):
    with archive(("a", tarfile.REGTYPE, "text"), ("b", tarfile.LNKTYPE, "a")) as tar:
        unpack(tar, tmp_path)
    assert (tmp_path / "b").samefile(tmp_path / "a")


@pytest.mark.parametrize("to", ["../secret", "door", "missing", "folder"])
def test_a_second_name_of_what_is_no_file_of_the_archive_is_refused(tmp_path: Path, to: str):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    with (
        archive(
            ("door", tarfile.SYMTYPE, "../secret"),
            ("folder", tarfile.DIRTYPE, ""),
            ("b", tarfile.LNKTYPE, to),
        ) as tar,
        pytest.raises(SandboxError),
    ):
        unpack(tar, folder)
    assert not (folder / "b").exists()


def test_what_was_there_is_replaced(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/old").touch()
    with archive(("a", tarfile.REGTYPE, "new")) as tar:
        unpack(tar, tmp_path)
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "door/out", "."])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str):
    folder = tmp_path / "folder"
    folder.mkdir()
    with (
        archive(("door", tarfile.SYMTYPE, ".."), (name, tarfile.REGTYPE, "x")) as tar,
        pytest.raises(SandboxError, match="leads out"),
    ):
        unpack(tar, folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["door", "folder"]


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
