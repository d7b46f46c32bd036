"""What of a fleet is full first, and how far it grows with its workers, by simulation.

    python -m benchmarks.fleet_simulation [--workers N,…] [--run-s S,…] [--own-looks] [--json]

Simulated with simpy, after `benchmarks.fleet_model`: callers ask again as soon as they are
answered, so that there is always more to do than can be done. Each figure that it takes is told
with its source; `--set NAME=VALUE` has another. `linear` is the throughput by that of so many
workers that nothing holds up. Where less than 0.9 is reached, what is full is doubled until it is,
or until nothing helps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from benchmarks.fleet_model import AHEAD, COSTS, Fleet, Layout, Load
from benchmarks.report import argument_parser

WORKERS = (8, 100, 1_000, 10_000)
RUN_S = (0.2, 1.0, 10.0)
OWNERS = 10
LINEAR = 0.9
EACH_MAX = 256  # of fronts, schedulers or stores
FULL = 0.9  # of its time: nothing more can be had of it
GROWS_BY = {
    "front": "fronts",
    "journal": "fronts",
    "scheduler": "schedulers",
    "storage": "stores",
}


@dataclass(frozen=True, slots=True)
class Point:
    """One fleet under load: `linear` as above, and the share of time that each part is busy."""

    layout: Layout
    run_s: float
    runs_per_s: float
    linear: float
    busy: dict[str, float]

    @property
    def full(self) -> str:
        """What keeps it from more: workers where it is linear, else the busiest other part."""
        if self.linear >= LINEAR:
            return "workers"
        others = {name: share for name, share in self.busy.items() if name != "workers"}
        busiest = max(others, key=others.__getitem__)
        return busiest if others[busiest] >= FULL else "workers"


def throughput(layout: Layout, run_s: float, costs: dict[str, float]) -> Point:
    """Let a fleet work until all is in swing, and then measure."""
    callers = max(2, round(2 * AHEAD * layout.workers))
    each = -(-callers // OWNERS)
    loads = [Load(f"owner{number}", each, run_s) for number in range(OWNERS)]
    fleet = Fleet(layout, loads, costs)
    begin_s = 2 * run_s + 2.0
    lasts_s = max(3 * run_s, 3.0 if layout.workers > 100 else 30 * run_s)
    fleet.env.run(begin_s)
    busy_before, done_before = fleet.busy_s(), answered(fleet)
    fleet.env.run(begin_s + lasts_s)
    runs_per_s = (answered(fleet) - done_before) / lasts_s
    busy = {
        name: (seconds - busy_before[name]) / lasts_s for name, seconds in fleet.busy_s().items()
    }
    return Point(layout, run_s, runs_per_s, 0.0, busy)


def answered(fleet: Fleet) -> int:
    return sum(len(times.answered_s) for times in fleet.times.values())


def alone_per_s(run_s: float, costs: dict[str, float]) -> float:
    """Runs a second of one worker that nothing else holds up."""
    transfer_s = costs["blob_bytes"] / costs["store_bytes_per_s"]
    return 1 / (run_s + costs["worker_s"] + 2 * costs["network_s"] + transfer_s)


def measure(layout: Layout, run_s: float, costs: dict[str, float]) -> Point:
    point = throughput(layout, run_s, costs)
    linear = point.runs_per_s / (layout.workers * alone_per_s(run_s, costs))
    return replace(point, linear=linear)


def grow(point: Point, costs: dict[str, float]) -> Point:
    """Double what is full until the fleet is linear; the last one that was better."""
    while point.linear < LINEAR and point.full in GROWS_BY:
        name = GROWS_BY[point.full]
        count = 2 * getattr(point.layout, name)
        if count > EACH_MAX:
            break
        point = measure(replace(point.layout, **{name: count}), point.run_s, costs)
    return point


def waits(layout: Layout, costs: dict[str, float], *, has_turns: bool) -> float:
    """How long 20 runs of one owner take behind 10,000 of another, by their time alone.

    0.2 s a run. Without turns the runs are all of one owner.
    """
    few = Load("few", 20, 0.2, again=False, at_s=60.0)
    many = Load("many" if has_turns else "few", 10_000, 0.2, again=False)
    beside_s = _last_s(Fleet(layout, [many, few], costs), few)
    return beside_s / _last_s(Fleet(layout, [few], costs), few)


def _last_s(fleet: Fleet, few: Load) -> float:
    fleet.env.run()
    times = fleet.times[few.owner]
    asked = zip(times.asked_s, times.answered_s, strict=True)
    return max(answered_s for asked_s, answered_s in asked if asked_s >= few.at_s) - few.at_s


def table(points: Sequence[Point]) -> list[str]:
    """Points as a Markdown table."""
    lines = ["| run, s | workers | fronts | schedulers | stores | runs/s | linear | full |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for one in points:
        layout = one.layout
        lines.append(
            f"| {one.run_s:g} | {layout.workers:,} | {layout.fronts} | {layout.schedulers} |"
            f" {layout.stores} | {one.runs_per_s:,.0f} | {one.linear:.2f} | {one.full} |"
        )
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(argv)
    costs = {name: figure.value for name, figure in COSTS.items()} | dict(args.set)
    points = []
    for run_s in args.run_s:
        for workers in args.workers:
            layout = Layout(int(workers), shares_looks=not args.own_looks)
            first = measure(layout, run_s, costs)
            points.append(first)
            if (grown := grow(first, costs)) is not first:
                points.append(grown)
    eight = Layout(8, shares_looks=not args.own_looks)
    fair = {
        "in_turn": waits(eight, costs, has_turns=True),
        "as_they_come": waits(eight, costs, has_turns=False),
    }
    if args.json:
        told = {"points": [asdict(one) | {"full": one.full} for one in points]}
        json.dump(told | {"costs": costs, "times_as_long": fair}, sys.stdout, indent=2)
        print()
        return
    print("\n".join(table(points)))
    print("\n20 runs behind 10,000 of another owner, 8 workers, 0.2 s, by their time alone:")
    print(f"{fair['in_turn']:.1f} in turn, {fair['as_they_come']:.0f} as they come\n")
    for name, figure in COSTS.items():
        source = "set" if name in dict(args.set) else figure.source
        print(f"- {name} {costs[name]:g}: {source}")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--workers", type=_numbers, default=WORKERS, metavar="N,…")
    parser.add_argument("--run-s", type=_numbers, default=RUN_S, metavar="S,…")
    parser.add_argument("--own-looks", action="store_true", help="a look at the project each")
    parser.add_argument("--set", type=_cost, action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args(argv)


def _numbers(text: str) -> tuple[float, ...]:
    numbers = tuple(map(float, text.split(",")))
    if any(number <= 0 for number in numbers):
        raise argparse.ArgumentTypeError("numbers above 0, with commas between")
    return numbers


def _cost(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if name not in COSTS:
        raise argparse.ArgumentTypeError(f"there are: {', '.join(COSTS)}")
    return name, float(value)


if __name__ == "__main__":
    main()
