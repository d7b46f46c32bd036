"""The folder of a base under way: gone at the end, or before the next if its maker was killed."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from images.base import FOLDER_PREFIX, LOCK, sweep, workplace

MAKER = """
import sys, time
from pathlib import Path
from images.base import workplace
with workplace(Path(sys.argv[1])) as (folder, lock):
    Path(folder, "root").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_gone_at_the_end(tmp_path: Path):
    with workplace(tmp_path) as (folder, _):
        Path(folder, "root").mkdir()
        sweep(tmp_path)  # as another build does at its start
        assert Path(folder, "root").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_just_being_made_is_not_taken_for_a_dead_ones(tmp_path: Path, monkeypatch):
    flock = fcntl.flock

    def late(lock: int, operation: int) -> None:
        if not operation & fcntl.LOCK_NB:
            sweep(tmp_path)  # as another build does just before
        flock(lock, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with workplace(tmp_path) as (folder, _):
        assert Path(folder, LOCK).is_file()


def test_what_a_killed_build_left_goes_before_the_next(tmp_path: Path):
    command = [sys.executable, "-c", MAKER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        left = Path(maker.stdout.readline().strip())
        maker.kill()
    assert (left / "root").is_dir()
    with workplace(tmp_path) as (folder, _):
        assert [str(path) for path in tmp_path.iterdir()] == [folder]


def test_what_is_not_surely_a_dead_ones_stays(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).touch()
    (tmp_path / f"{FOLDER_PREFIX}link").symlink_to(elsewhere)
    (tmp_path / f"{FOLDER_PREFIX}new").mkdir()
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert (elsewhere / LOCK).exists()
