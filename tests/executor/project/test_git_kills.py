"""A commit with a repository that is killed at any command of git is completed or taken back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.project.git import host
from tests.executor.project.test_kills import commit_in_child, restore
from tests.executor.project.test_units import _settings, shell  # noqa: F401
from tests.executor.project.viewing import View

pytestmark = pytest.mark.view  # git does the same for everyone

BEGIN = "git init -q -b main .; echo a > a; git add a; git commit -qm first; git branch other"
WORK = """
git stash list; echo s > a; git stash -q; git checkout -q other
for n in $(seq 120); do echo $n > $n; done; git add .; git commit -qm many; git tag v1
echo b > b; git add b; echo c > c
"""
STATE = "git log --all --format=%s%d --no-show-signature; git status --porcelain; git stash list"
COMMANDS_MAX = 60


def dies_before(*given: object, **more: object) -> subprocess.CompletedProcess[bytes]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def dies_during(*given: object, **more: object) -> subprocess.CompletedProcess[bytes]:
    """Start git, which then is left alone: it goes on, as nobody has killed it."""
    data = more.pop("input", None)
    for name in ("capture_output", "timeout", "check"):
        more.pop(name, None)
    if data is not None:
        more["stdin"] = subprocess.PIPE
    git = subprocess.Popen(*given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    if git.stdin:
        git.stdin.write(data)
        git.stdin.close()
    return dies_before()


def commit_and_die(view: View, commands: int, dies: Callable) -> bool:
    """Commit in a child that is killed at a command of the host's git; whether it came to the end
    before."""

    def prepare() -> None:
        left, run = [commands], subprocess.run

        def counted(*given: object, **more: object) -> subprocess.CompletedProcess[bytes]:
            left[0] -= 1
            return (dies if left[0] < 0 else run)(*given, **more)

        host.subprocess.run = counted

    return commit_in_child(view, prepare)


@pytest.mark.parametrize("dies", [dies_before, dies_during])
def test_a_commit_killed_at_any_command_is_all_or_nothing(tmp_path: Path, dies):
    project, pristine = tmp_path / "project", tmp_path / "pristine"
    pristine.mkdir()
    shell(pristine, BEGIN)
    shutil.copytree(pristine, project)
    view = View(project, tmp_path / "view")
    outcomes = []
    for commands in range(COMMANDS_MAX):
        restore(view, pristine)
        shell(project, "git status")  # which notes the new inodes in its index
        view.begin()
        view.run("sh", "-ec", WORK)
        finished = commit_and_die(view, commands, dies)
        view.store.recover(project)
        outcomes.append(shell(project, STATE))
        said = shell(project, "git fsck --strict --no-dangling 2>&1")
        assert said == "", f"killed at command {commands}"
        assert not list(project.rglob("*.lock"))
        assert not [path for path in project.rglob("*") if "ctxmode" in path.name]
        assert list((view.store.folder / "journals").rglob("*.jsonl")) == []
        if finished:
            break
    before, after = outcomes[0], outcomes[-1]
    assert "many" in after
    assert "many" not in before
    assert set(outcomes) == {before, after}
    assert len([one for one in outcomes if one == after]) > 4
