"""How late limits take effect: `python -m benchmarks.limits [--rounds N] [--json]`.

Overshoot is how much later than its deadline a run's answer comes. Cancel-to-dead is from the
caller's cancelling to the moment when no process of the run exists any more. Both with programs
that resist: they ignore signals, leave their session and fork.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from executor import LocalEngine, Request, open_engine

DEADLINE_S = 0.3
RESISTS = (
    "trap '' TERM INT HUP; for i in 1 2 3; do (setsid sh -c 'sleep {mark}' &); done; sleep {mark}"
)


async def overshoot_ms(executor: LocalEngine) -> float:
    """One run into its deadline: how much later the answer comes."""
    code = RESISTS.format(mark=30)
    began = time.perf_counter()
    completed = await executor.run(Request("shell", code, timeout_s=DEADLINE_S))
    took = time.perf_counter() - began
    # What comes before the program starts is no overshoot: it is the wait for the sandbox.
    before = took - completed.result.usage.wall_s
    return (took - before - DEADLINE_S) * 1000


async def cancel_to_dead_ms(executor: LocalEngine, mark: str) -> float:
    """One cancelled run: until nothing of it is left."""
    started = trio.Event()

    def on_output(_stream: str, _chunk: bytes) -> None:
        started.set()

    code = RESISTS.format(mark=mark).replace("; sleep", "; echo; sleep")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_quietly, executor, code, on_output)
        await started.wait()
        while count(mark) < 4:
            await trio.sleep(0.005)
        began = time.perf_counter()
        nursery.cancel_scope.cancel()
    while count(mark):
        time.sleep(0.0005)
    return (time.perf_counter() - began) * 1000


async def run_quietly(executor: LocalEngine, code: str, on_output: object) -> None:
    await executor.run(Request("shell", code), on_output=on_output)  # type: ignore[arg-type]


def count(mark: str) -> int:
    """Processes `sleep MARK` that exist, zombies not counted."""
    found = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found += Path(f"/proc/{name}/cmdline").read_bytes() == f"sleep\0{mark}\0".encode()
            except OSError:
                continue
    return found


def summary(samples: Sequence[float]) -> dict[str, float]:
    ordered = sorted(samples)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return {"median_ms": statistics.median(ordered), "p95_ms": p95, "max_ms": ordered[-1]}


async def measure(rounds: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        project, state = Path(folder, "project"), Path(folder, "state")
        project.mkdir()
        async with open_engine(
            project=project, state_dir=state, rules=None, home=Path.home()
        ) as executor:
            await executor.run(Request("shell", "true"))  # probes happen before anything is timed
            late = [await overshoot_ms(executor) for _ in range(rounds)]
            dead = [await cancel_to_dead_ms(executor, f"77{n}") for n in range(rounds)]
            tier = executor.isolation.tier
    return {
        "rounds": rounds,
        "tier": tier,
        "load": os.getloadavg()[0],
        "timeout_overshoot": summary(late),
        "cancel_to_dead": summary(dead),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = trio.run(measure, args.rounds)
    if args.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['rounds']} rounds, tier {found['tier']}, load {found['load']:.1f}")
    for name in ("timeout_overshoot", "cancel_to_dead"):
        figures = ", ".join(f"{k} {v:.1f}" for k, v in found[name].items())  # type: ignore[attr-defined]
        print(f"{name}: {figures}")


if __name__ == "__main__":
    main()
