"""Several servers at once: each sweeps what the dead left, and nothing of the living."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executor import Request, open_engine
from executor.instance import lock as instance
from tests.processes import unique_s, until_alive

SERVER = """
import sys, trio
from pathlib import Path
from executor import Request, open_engine

async def main():
    async with open_engine(
        project=Path(sys.argv[1]), state_dir=Path(sys.argv[2]), rules=None, home=Path.home()
    ) as executor:
        def started(stream, chunk):
            print(chunk.decode(), end="", flush=True)
        code = f"sleep {sys.argv[3]} & echo started; wait"
        await executor.run(Request("shell", code), on_output=started)

trio.run(main)
"""


def start_server(project: Path, state_dir: Path, mark: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(project), str(state_dir), mark],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout.readline() == "started\n"
    return process


def leftovers(state_dir: Path) -> set[str]:
    return {path.name for path in (state_dir / "spool").iterdir()} if state_dir.exists() else set()


async def test_what_a_killed_server_left_is_swept_and_the_living_is_spared(
    project: Path, tmp_path: Path
):
    state = tmp_path / "state"
    mark = unique_s()
    living, doomed = (start_server(project, state, mark) for _ in range(2))
    try:
        await until_alive(f"sleep\0{mark}\0", 2)
        locks = {path.stem: path for path in (state / "instances").glob("*-*.lock")}
        names = {name.split("-")[0]: name for name in locks}
        doomed.send_signal(signal.SIGKILL)
        doomed.wait()
        assert names[str(doomed.pid)] in leftovers(state)
        async with open_engine(
            project=project, state_dir=state, rules=None, home=Path.home()
        ) as executor:
            assert (await executor.run(Request("shell", "echo hi"))).result.ok
            assert names[str(doomed.pid)] not in leftovers(state)
            assert not locks[names[str(doomed.pid)]].exists()
            assert names[str(living.pid)] in leftovers(state)
            assert locks[names[str(living.pid)]].exists()
            assert living.poll() is None
        await until_alive(f"sleep\0{mark}\0", 1)
    finally:
        for process in (living, doomed):
            process.kill()
            process.wait()
            process.stdout.close()


async def test_a_server_leaves_nothing_behind(project: Path, tmp_path: Path):
    state = tmp_path / "state"
    async with open_engine(
        project=project, state_dir=state, rules=None, home=Path.home()
    ) as executor:
        await executor.run(Request("shell", "head -c 100000 /dev/zero"))
        assert leftovers(state)
    assert leftovers(state) == set()
    assert [path.name for path in (state / "instances").iterdir()] == ["registry.lock"]


@pytest.mark.parametrize("note", [b"", b"[]", b'["/etc", "/tmp"]'])
def test_a_sweep_removes_only_what_bears_the_dead_ones_id(note, tmp_path: Path):
    (tmp_path / "1-dead.lock").write_bytes(note)
    kept = tmp_path / "kept"
    kept.mkdir()
    assert instance.sweep(tmp_path) == ["1-dead"]
    assert kept.is_dir()
    assert Path("/etc").is_dir()


def test_an_unreadable_note_is_left_for_a_person(tmp_path: Path):
    (tmp_path / "1-dead.lock").write_bytes(b"\xff nonsense")
    assert instance.sweep(tmp_path) == []
    assert (tmp_path / "1-dead.lock").exists()


def test_a_held_lock_is_not_swept(tmp_path: Path):
    with instance.join(tmp_path) as here:
        here.remember([tmp_path / here.id])
        assert instance.sweep(tmp_path) == []
        assert (tmp_path / f"{here.id}.lock").exists()
    assert os.listdir(tmp_path) == ["registry.lock"]
