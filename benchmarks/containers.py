"""What a run in a container costs, beside `docker run` and `docker exec` by hand.

    python -m benchmarks.containers [--rounds N] [--parallel N] [--leftovers N] [--json]

The four take turns, so that whatever else the machine does falls on all: a run for which a
container has to be made (cold), one that finds a container made ahead (warm), `docker run --rm`
and `docker exec` of the same command in the same image. Then runs side by side, and many runs
after which nothing may be left of any.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import trio

import images
from executor import Executor, Limits, Request, Result, Settings, Status, open_executor
from executor.containers import leftovers

CODE = "echo hello"
COMMAND = ("/bin/bash", "-c", CODE)
WARM_S_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Report:
    """Medians in milliseconds, and what came of the many runs."""

    rounds: int
    load_average: float
    cold_ms: float
    warm_ms: float
    docker_run_ms: float
    docker_exec_ms: float
    parallel: int
    parallel_failures: int
    parallel_s: float
    leftover_runs: int
    leftover_failures: int
    left: tuple[str, ...]

    @property
    def warm_to_exec(self) -> float:
        return self.warm_ms / self.docker_exec_ms


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
    medians = {name: statistics.median(times) * 1000 for name, times in samples.items()}
    return Report(
        rounds,
        os.getloadavg()[0],
        medians["cold"],
        medians["warm"],
        medians["run"],
        medians["exec"],
        parallel,
        failures,
        took_s,
        many,
        failed,
        left,
    )


def _opened(project: Path, state: Path):  # noqa: ANN202 - an async context manager
    settings = Settings(isolation="container")
    return open_executor(
        project=project, state_dir=state, rules=None, home=Path.home(), settings=settings
    )


async def _run(executor: Executor, **more: object) -> Result:
    return (await executor.run(Request("shell", CODE, **more))).result


async def _timed(executor: Executor, **more: object) -> float:
    started = time.perf_counter()
    result = await _run(executor, **more)
    assert result.status is Status.OK, result.message
    return time.perf_counter() - started


async def _warmed(executor: Executor) -> None:
    """Until a container waits that the next plain run can have, and none is being made."""
    pool = executor._runner.placement.pool
    with trio.move_on_after(WARM_S_MAX):
        while not any(spec.limits.scratch_inodes == 65_536 for spec in pool.waiting):
            if not pool.waiting:
                await _run(executor)
            await trio.sleep(0.1)
    await trio.sleep(1.5)


async def _side_by_side(executor: Executor, count: int) -> tuple[int, float]:
    results: list[Result] = []

    async def one() -> None:
        results.append(await _run(executor))

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(one)
    return sum(not result.ok for result in results), time.perf_counter() - started


async def _many(executor: Executor, count: int) -> int:
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


def table(report: Report) -> str:
    at_once = f"{report.parallel_failures} failed, {report.parallel_s:.1f} s"
    left = ", ".join(report.left) or "nothing"
    lines = [
        f"cold run              {report.cold_ms:8.1f} ms",
        f"docker run --rm       {report.docker_run_ms:8.1f} ms",
        f"warm run              {report.warm_ms:8.1f} ms, {report.warm_to_exec:.2f} of docker exec",
        f"docker exec           {report.docker_exec_ms:8.1f} ms",
        f"{report.parallel} runs at once: {at_once}",
        f"{report.leftover_runs} runs: {report.leftover_failures} failed, left: {left}",
        f"n = {report.rounds} each, load average {report.load_average:.1f}",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--leftovers", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    report = trio.run(measure, args.rounds, args.parallel, args.leftovers)
    print(json.dumps(asdict(report), indent=1) if args.json else table(report))
    return 1 if report.left or report.leftover_failures or report.parallel_failures else 0


if __name__ == "__main__":
    sys.exit(main())
