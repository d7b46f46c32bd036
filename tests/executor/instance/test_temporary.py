"""The folder in the temporary directory is this user's own, or nothing is put there."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from executor import Request, SandboxUnavailableError, open_engine
from executor.instance import lock
from executor.instance import lock as instance
from tests.needs import need

STRANGER = 65431
DEADLINE_S = 60


def test_a_missing_folder_is_made_and_its_own_found_again(tmp_path: Path):
    folder = tmp_path / "own"
    for _ in range(2):
        assert lock.own_folder(folder) == folder
    assert folder.stat().st_mode & 0o777 == lock.MODE
    assert lock.is_own_folder(folder)


def link(folder: Path) -> None:
    target = folder.with_name("target")
    target.mkdir()
    folder.symlink_to(target)


def dangle(folder: Path) -> None:
    folder.symlink_to(folder.with_name("nowhere"))


def open_up(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def group(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o730)


def loosen_around(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)


def file(folder: Path) -> None:
    folder.touch()


def give_away(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not applicable: only root can make a folder of another user's")
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)


MADE_BEFORE = [
    (link, "it is not a folder"),
    (dangle, "it is not a folder"),
    (file, "it is not a folder"),
    (open_up, "others may write to it"),
    (group, "others may write to it"),
    (give_away, f"the user with id {STRANGER} made it"),
    (loosen_around, "which is not sticky"),
]


@pytest.mark.parametrize(("make", "why"), MADE_BEFORE)
def test_what_another_could_have_made_is_refused(
    make: Callable[[Path], None], why: str, tmp_path: Path
):
    folder = tmp_path / "around" / "own"
    folder.parent.mkdir()
    make(folder)
    with pytest.raises(SandboxUnavailableError, match=re.escape(why)) as refused:
        lock.own_folder(folder)
    assert "TMPDIR" in refused.value.remedy


def test_a_sticky_folder_around_it_is_as_good_as_ones_own(tmp_path: Path):
    tmp_path.chmod(0o1777)
    assert lock.own_folder(tmp_path / "own").is_dir()


def program(number: int) -> Request:
    """What is compiled in a stand-in of the project (tier A), or has folders on the host (B)."""
    need("c")
    return Request("c", f"int main(void) {{ return {number}; }}")


async def test_a_server_whose_folder_was_taken_puts_nothing_there(
    project: Path, tmp_path: Path, state_dir: Path, monkeypatch
):
    """What empties /tmp takes the folder, and whoever knows its name makes it anew."""
    trap = tmp_path / "trap"
    trap.mkdir()
    monkeypatch.setattr(instance.tempfile, "tempdir", str(tmp_path))
    async with open_engine(
        project=project, state_dir=state_dir, rules=None, home=Path.home()
    ) as executor:
        first = await executor.run(program(1))
        assert first.result.exit_code == 1, first.result
        folder = executor._runner.placement.temporary
        shutil.rmtree(folder)
        folder.symlink_to(trap)
        with (
            trio.fail_after(DEADLINE_S),
            pytest.raises(SandboxUnavailableError, match="not a folder"),
        ):
            await executor.run(program(2))
    assert not list(trap.iterdir())


def test_what_is_no_longer_ones_own_is_left_where_it_is(tmp_path: Path):
    """The next server removes what a killed one left, and follows no name into another's folder."""
    registry = tmp_path / "instances"
    with instance.join(registry) as here:
        ended = registry / "1-dead.lock"
        taken = tmp_path / "ctxmode-1-dead"
        taken.mkdir()
        if os.geteuid() == 0:
            os.chown(taken, STRANGER, STRANGER)
        ended.write_text(json.dumps([str(taken)]))
        assert instance.sweep(here.folder) == ["1-dead"]
    assert taken.exists() is (os.geteuid() == 0)
