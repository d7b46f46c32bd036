"""Runs in containers, beside `docker run` and `docker exec` of the same command by hand."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import trio

import images
from benchmarks.engine import opened, time_run
from benchmarks.harness import Bench, NotMeasuredError, measure, read_output, time_side
from ctxmode.doctor.container_engine import examine
from executor import Limits, LocalEngine, Request, Settings
from executor.containers import host
from executor.containers.place import ContainerPlace

CODE = "echo hello"
COMMAND = ("/bin/bash", "-c", CODE)
REQUEST = Request("shell", CODE)
WARM_S_MAX = 30.0


@measure(5, needs=("docker",), at_once="8", runs="20")
async def runs(bench: Bench) -> None:
    """Measure cold and warm runs, then runs side by side, after which nothing may be left."""
    reference = await _find_image()
    standing = _docker("run", "-d", "--network=none", "--entrypoint=/bin/sleep", reference, "3600")
    try:
        async with opened(bench, settings=Settings(isolation="container")) as engine:
            await time_run(engine, REQUEST)
            base = ("--rm", "--network=none", "--entrypoint", COMMAND[0], reference)
            # Limits that no container was made with, so that none can wait for them.
            odd = iter(range(50_000, 60_000))
            cold, warm, by_run, by_exec = await bench.turns(
                lambda: time_run(
                    engine, Request("shell", CODE, limits=Limits(scratch_inodes=next(odd)))
                ),
                partial(_run_warm, engine),
                partial(read_output, "docker", "run", *base, *COMMAND[1:]),
                partial(read_output, "docker", "exec", standing, *COMMAND),
            )
            at_once = int(bench.options["at_once"])
            side_by_side = await time_side(partial(_run_together, engine, at_once))
            for _ in range(0, int(bench.options["runs"]), 4):
                await _run_together(engine, 4)
    finally:
        _docker("rm", "-f", standing)
    bench.times("cold", cold, "docker run", by_run)
    bench.times("warm", warm, "docker exec", by_exec, "ratio ≤ 1.3")
    bench.times(f"{at_once} runs at once", [side_by_side])
    left = _find_left(bench.folder / "state", bench.folder / "project")
    bench.value("things left after all runs", len(left), bar="≤ 0")
    bench.notes += [f"left: {thing}" for thing in left]


async def _find_image() -> str:
    """Return the image of a shell, on an engine of this machine."""
    health = await examine()
    if not health.reachable:
        raise NotMeasuredError(f"{health.reason} ({health.remedy})")
    if not health.endpoint.startswith("unix://"):
        raise NotMeasuredError(f"the container engine is elsewhere, {health.endpoint}")
    wanted = images.reference(images.group_for("shell"))
    try:
        _docker("image", "inspect", wanted)
    except (OSError, subprocess.CalledProcessError):
        raise NotMeasuredError(
            f"no image {wanted}, or no `docker` (context-mode doctor images build)"
        ) from None
    return wanted


async def _run_warm(engine: LocalEngine) -> float:
    """Run once a container waits that the next plain run can have, and none is being made."""
    place = engine._runner.placement
    assert isinstance(place, ContainerPlace)
    await time_run(engine, REQUEST)
    with trio.move_on_after(WARM_S_MAX):
        while not place.pool.state[0].idle:  # the purpose used last
            await trio.sleep(0.1)
    await trio.sleep(1.5)
    return await time_run(engine, REQUEST)


async def _run_together(engine: LocalEngine, count: int) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(time_run, engine, REQUEST)


def _find_left(state: Path, project: Path) -> list[str]:
    """List containers, volumes, mounts and temporary folders of the server that has just ended."""
    label = f"label={host.INSTANCES}={state / 'instances'}"
    found = [f"container {it}" for it in _docker("ps", "-aq", "--filter", label).split()]
    found += [f"volume {it}" for it in _docker("volume", "ls", "-q", "--filter", label).split()]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [f"mount {line.split()[4]}" for line in mounts if str(project) in line]
    own = f"{os.getpid()}-"
    found += [f"folder {it}" for it in Path(tempfile.gettempdir()).glob(f"ctxmode-{own}*")]
    return found + [f"folder {it}" for it in Path("/run").glob(f"ctxmode-mounts-{own}*")]


def _docker(*arguments: str) -> str:
    return read_output("docker", *arguments).strip()
