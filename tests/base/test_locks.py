"""A lock file is held by one process at a time, and by none after its end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.locks import hold_lock, is_held

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys
from base.locks import hold_lock
with hold_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_of_another_process_is_held_until_it_is_killed(path, holder):
    assert is_held(path)
    with pytest.raises(BlockingIOError), hold_lock(path, wait_s=0.05):
        pass
    holder.kill()
    holder.wait()
    assert not is_held(path)
    with hold_lock(path, wait_s=0):
        assert is_held(path)


def test_a_lock_is_free_after_an_error(path):
    with pytest.raises(ValueError, match="amid it"), hold_lock(path):
        raise ValueError("amid it")
    assert not is_held(path)


def test_no_link_is_locked(path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), hold_lock(path):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_is_missing_is_told_from_a_free_one(path):
    with pytest.raises(FileNotFoundError):
        is_held(path)
