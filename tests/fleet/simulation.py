"""A simulated engine: so many workers, a queue before them, and a front that sends in turn."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.turns import Turns


@dataclass(frozen=True)
class Load:
    """Runs of one owner that are all asked for at once, at a time, each taking so long."""

    owner: str
    count: int
    each_s: float = 1.0
    at_s: float = 0.0


@dataclass
class Outcome:
    """What came of each owner's runs, in the order in which they began."""

    began_s: Mapping[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ended_s: Mapping[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def took_s(self, load: Load) -> float:
        """From the asking for a load, the owner's only one, to the end of its last run."""
        return max(self.ended_s[load.owner]) - load.at_s


def simulate(turns: Turns, loads: list[Load], workers: int, until_s: float = 1e9) -> Outcome:
    """Send the runs of loads in turn, until all have ended or so much time has passed."""
    outcome = Outcome()
    events = [(load.at_s, 0, number) for number, load in enumerate(loads)]
    heapq.heapify(events)
    by_run: dict[str, Load] = {}
    queue: deque[str] = deque()
    ended: list[str] = []
    idle = workers
    while events:
        now_s, kind, number = heapq.heappop(events)
        if now_s > until_s:
            break
        if kind == 0:
            load = loads[number]
            for _ in range(load.count):
                by_run[run := str(len(by_run))] = load
                turns.add(run, load.owner, now_s)
        else:
            run = ended[number]
            turns.leave(run, now_s, cpu_s=by_run[run].each_s)
            outcome.ended_s[by_run[run].owner].append(now_s)
            idle += 1
        if events and events[0][0] == now_s:
            continue  # all that happens at one time is known before it is answered
        while (taken := turns.take(now_s)) is not None:
            queue.append(taken)
        while idle and queue:
            begun = queue.popleft()
            idle -= 1
            outcome.began_s[by_run[begun].owner].append(now_s)
            ended.append(begun)
            heapq.heappush(events, (now_s + by_run[begun].each_s, 1, len(ended) - 1))
    return outcome
