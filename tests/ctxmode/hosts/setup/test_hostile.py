"""What a project may have put where a host's files, or ours, belong: nothing hangs, and no link is
followed out of it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxmode.config.files import BYTES_MAX, PROJECT_FILE, find_lines
from ctxmode.config.files import read_config_file as read_config
from ctxmode.errors import ContextModeError
from ctxmode.hosts.setup.hosts import BY_NAME
from ctxmode.hosts.setup.plan import plan, write
from ctxmode.hosts.setup.target import Target

PLACES = (
    ("claude-code", ".mcp.json"),
    ("claude-code", ".claude/settings.json"),
    ("opencode", "opencode.json"),
    ("cursor", ".cursor/mcp.json"),
)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{os.open(path.parent, os.O_PATH)}/{path.name}")


def a_large_one(path: Path) -> None:
    path.touch()
    os.truncate(path, 50 << 20)


HINDRANCES: dict[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "socket": a_socket,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "large": a_large_one,
    "no UTF-8": lambda path: path.write_bytes(b'{"a": "\xff"}'),
    "deep": lambda path: path.write_text('{"a":' * 100_000),
    "no number": lambda path: path.write_text('{"a": ' + "9" * 5_000 + "}"),
    "NaN": lambda path: path.write_text('{"a": NaN}'),
}


@pytest.fixture
def target(tmp_path: Path) -> Target:
    (tmp_path / "project").mkdir()
    return Target("project", tmp_path / "home", tmp_path / "project", ("context-mode",))


@pytest.mark.parametrize(("host", "place"), PLACES)
@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_a_file_that_cannot_be_edited_is_named_and_nothing_is_changed(
    target: Target, host: str, place: str, hindrance: str
) -> None:
    path = target.path(place)
    path.parent.mkdir(exist_ok=True)
    assert plan(BY_NAME[host], target)
    HINDRANCES[hindrance](path)
    with pytest.raises(ContextModeError, match=path.name) as raised:
        plan(BY_NAME[host], target)
    assert "Nothing was changed" in str(raised.value)


@pytest.mark.parametrize(("host", "place"), PLACES)
@pytest.mark.parametrize("link", ["file", "dangling", "folder"])
def test_no_link_of_a_project_is_followed_out_of_it(
    target: Target, tmp_path: Path, host: str, place: str, link: str
) -> None:
    path, outside = target.path(place), tmp_path / "outside"
    outside.mkdir()
    (outside / path.name).write_text("{}")
    if link == "folder" and path.parent != target.project:
        path.parent.symlink_to(outside)
    else:
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(outside / (path.name if link == "file" else "none"))
    with pytest.raises(ContextModeError, match="points outside the project"):
        plan(BY_NAME[host], target)
    assert [one.name for one in outside.iterdir()] == [path.name]
    assert (outside / path.name).read_text() == "{}"


def test_a_link_within_the_project_is_followed(target: Target) -> None:
    (target.project / "real.json").write_text("{}")
    target.path(".mcp.json").symlink_to("real.json")
    write(plan(BY_NAME["claude-code"], target))
    assert "context-mode" in (target.project / "real.json").read_text()
    assert target.path(".mcp.json").is_symlink()


def test_a_link_that_came_after_the_plan_is_not_followed(target: Target, tmp_path: Path) -> None:
    change = next(one for one in plan(BY_NAME["cursor"], target) if one.path.name == "mcp.json")
    (tmp_path / "outside").mkdir()
    target.path(".cursor").symlink_to(tmp_path / "outside")
    with pytest.raises(ContextModeError, match="points outside the project"):
        write([change])
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    "make",
    [
        *(HINDRANCES[name] for name in ("FIFO", "socket", "folder", "device", "large", "no UTF-8")),
        lambda path: path.symlink_to("/etc/hostname"),
        lambda path: path.write_text("x = " + "[" * 100_000),
        lambda path: path.write_text(".".join(["a"] * 100_000) + " = 1"),
        lambda path: path.write_text("x = " + "9" * 5_000),
        lambda path: path.write_text("x = 1\nx = 2"),
    ],
)
def test_a_configuration_of_a_project_that_is_none_is_told_at_once(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / PROJECT_FILE
    assert read_config(path, tmp_path).data == {}
    path.parent.mkdir()
    make(path)
    with pytest.raises(ContextModeError, match=r"config\.toml"):
        read_config(path, tmp_path)


def test_a_configuration_linked_within_the_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("x = 1")
    (tmp_path / ".ctxmode").mkdir()
    (tmp_path / PROJECT_FILE).symlink_to("../real.toml")
    assert read_config(tmp_path / PROJECT_FILE, tmp_path).data == {"x": 1}


@pytest.mark.parametrize("line", ["[a" + " " * BYTES_MAX, "a" + " " * BYTES_MAX, "[" * BYTES_MAX])
def test_lines_of_keys_are_found_without_trying_every_way(line: str) -> None:
    assert find_lines(f"{line}\n[here]\n")[("here",)] == 2


def test_a_document_of_plans_stays_json(target: Target) -> None:
    write(plan(BY_NAME["cursor"], target))
    assert json.loads(target.path(".cursor/mcp.json").read_text())["mcpServers"]
