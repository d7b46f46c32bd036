"""Reading a hostile repository runs none of its programs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repomap import git as git_room
from repomap.git import GitFailedError, GitTooLongError, run_git
from repomap.history import list_changed, read_history
from repomap.model import MapError
from tests.repomap.repositories import commit_all, write_files
from tests.repomap.repositories import run_git as plain_git


@dataclass(frozen=True)
class Trap:
    """Settings that name a program, and what makes plain git run it. `{p}` is the program."""

    settings: Mapping[str, str]
    control: tuple[str, ...]
    attributes: str = ""
    lay: Callable[[Path, Path], None] | None = field(default=None)


def lay_hook(root: Path, program: Path) -> None:
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-index-change").symlink_to(program)


def lose_an_object(root: Path, program: Path) -> None:
    """Make of it a partial clone, the rest of which is to be had from a command."""
    tree = plain_git(root, "rev-parse", "HEAD~1^{tree}").strip()
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()


def nest_a_submodule(root: Path, program: Path) -> None:
    inner = root / "inner"
    inner.mkdir()
    write_files(inner, {"x.txt": "1\n"})
    commit_all(inner, "Inner")
    plain_git(root, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    plain_git(root, "commit", "-q", "-m", "Add inner")
    plain_git(inner, "config", "core.fsmonitor", str(program))
    write_files(inner, {"x.txt": "2\n"})


DIFF = ("diff", "HEAD~1")
TRAPS = {
    "fsmonitor": Trap({"core.fsmonitor": "{p}"}, ("status",)),
    "hook": Trap({}, ("status",), lay=lay_hook),
    "hooks-path": Trap({"core.hooksPath": ".git/hooks"}, ("status",), lay=lay_hook),
    "external-diff": Trap({"diff.external": "{p}"}, DIFF),
    "driver": Trap({"diff.x.command": "{p}"}, DIFF, "*.txt diff=x"),
    "textconv": Trap({"diff.x.textconv": "{p}"}, DIFF, "*.txt diff=x"),
    "clean": Trap({"filter.x.clean": "{p}", "filter.x.required": "true"}, DIFF, "*.txt filter=x"),
    "process": Trap({"filter.x.process": "{p}"}, DIFF, "*.txt filter=x"),
    "odd-name": Trap({"filter.a.b=c.clean": "{p}"}, DIFF, "*.txt filter=a.b=c"),
    "submodule": Trap({}, DIFF, lay=nest_a_submodule),
    "promisor": Trap(
        {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": "ext::{p}",
            "remote.origin.promisor": "true",
            "protocol.ext.allow": "always",
        },
        ("log", "--name-only"),
        lay=lose_an_object,
    ),
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a file where it ran."""
    made = tmp_path / "program"
    made.write_text(f"#!/bin/sh\n/bin/echo ran >> {tmp_path}/ran\n")
    made.chmod(0o755)
    return made


def arm(root: Path, program: Path, trap: Trap) -> None:
    write_files(root, {"a.txt": "1\n", ".gitattributes": f"{trap.attributes}\n"})
    commit_all(root, "First")
    write_files(root, {"a.txt": "2\n"})
    commit_all(root, "Second")
    if trap.lay is not None:
        trap.lay(root, program)
    for name, value in trap.settings.items():
        plain_git(root, "config", name, value.replace("{p}", str(program)))
    write_files(root, {"a.txt": "3\n"})


@pytest.mark.parametrize("name", TRAPS)
def test_no_program_of_the_repository_runs(root, tmp_path, program, name):
    trap = TRAPS[name]
    arm(root, program, trap)
    head = plain_git(root, "rev-parse", "HEAD").strip()
    read_history(root)
    read_history(root, since=head)
    try:
        changed = list_changed(root, "HEAD~1")
    except MapError:
        changed = ()  # an object that is missing
    assert not (tmp_path / "ran").exists()
    assert changed == (() if name == "promisor" else ("a.txt",))
    # The positive control: git as it is does run it.
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run(
        ["git", *trap.control], cwd=root, env=environment, capture_output=True, check=False
    )
    assert (tmp_path / "ran").exists()


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a script in the place of git."""

    def put(script: str) -> None:
        (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "git").chmod(0o755)
        monkeypatch.setattr(git_room, "GIT_PATH", str(tmp_path))

    return put


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        ("exec /bin/sleep 600", GitTooLongError, "took longer"),
        ("exec /bin/cat /dev/zero", MapError, "printed more than"),
        ("echo hint >&2; echo fatal: no >&2; exit 1", GitFailedError, "git log: fatal: no"),
        ("exit 7", GitFailedError, "git log: exit 7"),
    ],
    ids=["hangs", "endless", "fails", "silent"],
)
def test_a_git_that_goes_wrong_is_told(root, stand_in, script, error, said):
    stand_in(script)
    with pytest.raises(error, match=said):
        run_git(root, "log", deadline_s=0.5 if "sleep" in script else 60)


def test_without_git_a_map_has_no_history(root, tmp_path, monkeypatch):
    monkeypatch.setattr(git_room, "GIT_PATH", str(tmp_path))
    assert read_history(root).note == "no history: git was not found"
    with pytest.raises(MapError, match="git was not found"):
        list_changed(root, "HEAD")


def test_a_repository_of_another_user_is_not_read(root, monkeypatch):
    write_files(root, {"a": "1"})
    commit_all(root, "First")
    # git's own variable for its tests.
    monkeypatch.setitem(git_room._ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert read_history(root).note == "no history: the repository belongs to another user"
    with pytest.raises(MapError, match="belongs to another user"):
        list_changed(root, "HEAD")


def test_a_history_that_takes_too_long_is_told(root, stand_in):
    stand_in("exec /bin/sleep 600")
    assert "took longer" in read_history(root, deadline_s=0.3).note
