"""What a run in a container costs, beside `docker run` and `docker exec` by hand.

    python -m benchmarks.containers [--rounds N] [--parallel N] [--leftovers N] [--json]

The four take turns, so that whatever else the machine does falls on all: a run for which a
container has to be made (cold), one that finds a container made ahead (warm), `docker run --rm`
and `docker exec` of the same command in the same image. Then runs side by side, and many runs
after which nothing may be left of any.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import trio

import images
from benchmarks.report import Report, Row, argument_parser, show, summary
from ctxmode.doctor.container_engine import examine
from executor import Limits, LocalEngine, Request, Result, Settings, Status, open_engine
from executor.containers import leftovers
from executor.containers.place import ContainerPlace

CODE = "echo hello"
COMMAND = ("/bin/bash", "-c", CODE)
WARM_S_MAX = 30.0
WARM_TO_EXEC_MAX = 1.3  # what a warm run may cost of a bare `docker exec`


async def measure(rounds: int, parallel: int, many: int) -> Report:
    """All of it, on a project and a state folder of its own."""
    reference = images.reference(images.group_for("shell"))
    samples: dict[str, list[float]] = {"cold": [], "warm": [], "run": [], "exec": []}
    with tempfile.TemporaryDirectory() as folder:
        project, state = Path(folder, "project"), Path(folder, "state")
        project.mkdir()
        standing = _docker(
            "run", "-d", "--network=none", "--entrypoint=/bin/sleep", reference, "3600"
        )
        try:
            async with _opened(project, state) as executor:
                await executor.run(Request("shell", CODE))  # proves the toolchain
                for number in range(rounds):
                    # Limits that no container was made with, so that none can wait for them.
                    odd = Limits(scratch_inodes=50_000 + number)
                    samples["cold"].append(await _timed(executor, limits=odd))
                    await _warmed(executor)
                    samples["warm"].append(await _timed(executor))
                    base = ("--rm", "--network=none", "--entrypoint", COMMAND[0], reference)
                    samples["run"].append(_by_hand("run", *base, *COMMAND[1:]))
                    samples["exec"].append(_by_hand("exec", standing, *COMMAND))
                failures, took_s = await _side_by_side(executor, parallel)
                failed = await _many(executor, many)
        finally:
            _docker("rm", "-f", standing)
        left = _left(state, project)
    report = Report("containers")
    report.add(Row("cold, beside docker run", summary(samples["cold"]), summary(samples["run"])))
    warm, by_hand = summary(samples["warm"]), summary(samples["exec"])
    report.add(Row("warm, beside docker exec", warm, by_hand, WARM_TO_EXEC_MAX))
    report.figures |= {
        f"{parallel}_runs_at_once_s": took_s,
        "failures_of_these": failures,
        f"failures_of_{many}_runs": failed,
        "things_left_of_all": len(left),
    }
    report.notes = tuple(f"left: {thing}" for thing in left)
    return report


def _opened(project: Path, state: Path) -> AbstractAsyncContextManager[LocalEngine]:
    settings = Settings(isolation="container")
    return open_engine(
        project=project, state_dir=state, rules=None, home=Path.home(), settings=settings
    )


async def _run(executor: LocalEngine, limits: Limits | None = None) -> Result:
    return (await executor.run(Request("shell", CODE, limits=limits))).result


async def _timed(executor: LocalEngine, limits: Limits | None = None) -> float:
    started = time.perf_counter()
    result = await _run(executor, limits)
    assert result.status is Status.OK, result.message
    return time.perf_counter() - started


async def _warmed(executor: LocalEngine) -> None:
    """Until a container waits that the next plain run can have, and none is being made."""
    place = executor._runner.placement
    assert isinstance(place, ContainerPlace)
    pool = place.pool
    await _run(executor)
    with trio.move_on_after(WARM_S_MAX):
        while not pool.state[0].idle:  # the purpose used last
            await trio.sleep(0.1)
    await trio.sleep(1.5)


async def _side_by_side(executor: LocalEngine, count: int) -> tuple[int, float]:
    results: list[Result] = []

    async def one() -> None:
        results.append(await _run(executor))

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(one)
    return sum(not result.ok for result in results), time.perf_counter() - started


async def _many(executor: LocalEngine, count: int) -> int:
    failures = 0
    for start in range(0, count, 4):
        failed, _ = await _side_by_side(executor, min(4, count - start))
        failures += failed
    return failures


def _left(state: Path, project: Path) -> tuple[str, ...]:
    """Containers, volumes, mounts and temporary folders of the server that has just ended."""
    label = f"label={leftovers.INSTANCES}={state / 'instances'}"
    found = [f"container {it}" for it in _docker("ps", "-aq", "--filter", label).split()]
    found += [f"volume {it}" for it in _docker("volume", "ls", "-q", "--filter", label).split()]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [f"mount {line.split()[4]}" for line in mounts if str(project) in line]
    own = f"ctxmode-{os.getpid()}-"
    found += [f"folder {it}" for it in Path(tempfile.gettempdir()).glob(f"{own}*")]
    found += [f"folder {it}" for it in Path("/run").glob(f"ctxmode-mounts-{os.getpid()}-*")]
    return tuple(found)


def _by_hand(*arguments: str) -> float:
    started = time.perf_counter()
    _docker(*arguments)
    return time.perf_counter() - started


def _docker(*arguments: str) -> str:
    done = subprocess.run(("docker", *arguments), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> int:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--leftovers", type=int, default=60)
    args = parser.parse_args()
    if reason := _why_not():
        show(Report("containers", notes=(f"not measured: {reason}",)), as_json=args.json)
        return 0
    report = trio.run(measure, args.rounds, args.parallel, args.leftovers)
    show(report, as_json=args.json)
    return 1 if any(count for name, count in report.figures.items() if name[-2:] != "_s") else 0


def _why_not() -> str:
    """Why there is nothing to measure: no engine, none of this machine, or no image."""
    health = trio.run(examine)
    if not health.reachable:
        return f"{health.reason} ({health.remedy})"
    if not health.endpoint.startswith("unix://"):
        return f"the engine is elsewhere, {health.endpoint}"
    wanted = images.reference(images.group_for("shell"))
    try:
        _docker("image", "inspect", wanted)
    except (OSError, subprocess.CalledProcessError):
        return f"there is no image {wanted}, or no `docker` (`context-mode images build`)"
    return ""


if __name__ == "__main__":
    sys.exit(main())
