"""A fleet as stations that each take their time, simulated; `fleet_simulation` asks it.

A caller's run goes by its front (look, order, journal, its owner's turn, engine), the scheduler,
the storage of blobs and a worker, and back by its front. Owners' turns are the real ones.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import simpy

from fleet.grouping import GROUP_MAX
from fleet.turns import Turns

Steps = Generator[simpy.Event, Any, None]

ANSWER, SUBMIT, LOOK = range(3)  # the front's processor takes the lowest first
AHEAD = 1.25  # runs with the engine, for each worker: so that none waits for its next


class Figure(NamedTuple):
    """A cost of one run, and where it is from: measured by a benchmark, or assumed."""

    value: float
    source: str


COSTS = {
    "look_s": Figure(
        0.026, "measured, `fleet --snapshot`: processor's time, 1,000 files, unchanged"
    ),
    "order_s": Figure(0.0004, "measured, `fleet --order`: secrets, order, seal"),
    "call_s": Figure(0.012, "measured: all calls of a run, to an engine with TLS"),
    "answer_s": Figure(0.0005, "measured, `fleet --order`: the outcome is read and checked"),
    "write_s": Figure(0.00013, "measured, `fleet_journal`: 7,400 writes a second by 500 at once"),
    "sync_s": Figure(0.005, "assumed: a flush of an ordinary disk; here 0.5 ms, `fleet_journal`"),
    "assign_s": Figure(0.001, "assumed: a scheduler in memory, as Dask's; in a database 0.02"),
    "blob_bytes": Figure(
        10e3, "measured, `fleet --snapshot`: one small file of the project is new"
    ),
    "store_bytes_per_s": Figure(1.25e9, "10 Gbit/s to a node of the storage"),
    "worker_s": Figure(0.010, "assumed: a worker's own time for a run, beside the program's"),
    "network_s": Figure(0.0005, "assumed: a message within a data centre"),
}
"""Seconds, bytes and bytes a second; with the benchmark of `python -m benchmarks.…`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How many there are of each. Runs that wait for a look share one, as `fleet.shared_looks` has
    it, or each has its own."""

    workers: int
    fronts: int = 1
    schedulers: int = 1
    stores: int = 1
    shares_looks: bool = True


@dataclass(frozen=True, slots=True)
class Load:
    """Runs of an owner, each taking about `run_s`.

    `callers` ask at once from `at_s` on. Each asks `again` when it is answered, or not.
    """

    owner: str
    callers: int
    run_s: float
    again: bool = True
    at_s: float = 0.0


class Station:
    """Something that does one thing at a time, or as many as it has parts, the most urgent first.

    It is simpy's PriorityResource, but for its queue: that one sorts all that wait at each arrival.
    """

    def __init__(self, env: simpy.Environment, parts: int = 1) -> None:
        self._env = env
        self._idle = parts
        self._waiting: tuple[deque[simpy.Event], ...] = (deque(), deque(), deque())
        self.busy_s = 0.0

    def begin(self, priority: int) -> Steps:
        """Wait for a part; whoever has it gives it back by `end`."""
        if self._idle:
            self._idle -= 1
            return
        turn = self._env.event()
        self._waiting[priority].append(turn)
        yield turn

    def end(self, began_s: float) -> None:
        """Hand the part on."""
        self.busy_s += self._env.now - began_s
        turn = next((queue.popleft() for queue in self._waiting if queue), None)
        if turn is None:
            self._idle += 1
        else:
            turn.succeed()

    def work(self, seconds: float, priority: int = SUBMIT) -> Steps:
        """Wait for a part, and keep it so long."""
        yield from self.begin(priority)
        began_s = self._env.now
        yield self._env.timeout(seconds)
        self.end(began_s)


class Front:
    """One front: a processor, a journal that commits groups, turns, and looks at projects."""

    def __init__(self, fleet: Fleet, at_once: int) -> None:
        self._fleet, self._env, self._costs = fleet, fleet.env, fleet.costs
        self.processor = Station(fleet.env)
        self.journal_s = 0.0
        self.turns = Turns(at_once)
        self._sent: dict[str, simpy.Event] = {}
        self._writing: list[simpy.Event] = []
        self._looking: dict[str, list[simpy.Event]] = {}

    def run(self, run: str, owner: str, run_s: float) -> Steps:
        """All steps of one run."""
        env, costs, fleet = self._env, self._costs, self._fleet
        yield from self._look(owner)
        yield from self.processor.work(costs["order_s"])
        yield self._write()
        self._sent[run] = sent = env.event()
        self.turns.add(run, owner, env.now)
        self._send()
        yield sent
        yield from self.processor.work(costs["call_s"])
        yield from fleet.store.work(costs["blob_bytes"] / costs["store_bytes_per_s"])
        yield from fleet.scheduler.work(costs["assign_s"])
        self._write()  # that it is sent; nobody waits for it
        yield from fleet.workers.begin(SUBMIT)
        began_s = env.now
        yield env.timeout(2 * costs["network_s"] + costs["worker_s"])
        yield from fleet.store.work(costs["blob_bytes"] / costs["store_bytes_per_s"], ANSWER)
        yield env.timeout(run_s)
        fleet.workers.end(began_s)
        yield from self.processor.work(costs["answer_s"], ANSWER)
        yield self._write()
        self.turns.end(run, env.now, run_s)
        self._send()

    def _send(self) -> None:
        while (run := self.turns.take(self._env.now)) is not None:
            self._sent.pop(run).succeed()

    def _look(self, project: str) -> Steps:
        if not self._fleet.layout.shares_looks:
            yield from self.processor.work(self._costs["look_s"], LOOK)
            return
        looked = self._env.event()
        if project in self._looking:
            self._looking[project].append(looked)
        else:
            self._looking[project] = [looked]
            self._env.process(self._look_for_all(project))
        yield looked

    def _look_for_all(self, project: str) -> Steps:
        """Look once for all who asked before it began, until nobody waits."""
        waiting = self._looking[project]
        while waiting:
            # Whoever comes while the look waits for the processor still has the same one.
            yield from self.processor.begin(LOOK)
            began_s, group = self._env.now, waiting[:]
            waiting.clear()
            yield self._env.timeout(self._costs["look_s"])
            self.processor.end(began_s)
            for one in group:
                one.succeed()
        del self._looking[project]

    def _write(self) -> simpy.Event:
        """An event for when a write is on disk."""
        written = self._env.event()
        self._writing.append(written)
        if len(self._writing) == 1:
            self._env.process(self._commit())
        return written

    def _commit(self) -> Steps:
        """Commit groups as `GroupedWriter` does, until none waits."""
        yield self._env.timeout(0)  # all that come at one time are one group
        while self._writing:
            group = self._writing[:GROUP_MAX]
            sync_s, write_s = self._costs["sync_s"], self._costs["write_s"]
            yield self._env.timeout(sync_s + len(group) * write_s)
            # Of a group that is not full, only its part: more would have found room.
            self.journal_s += len(group) * (sync_s / GROUP_MAX + write_s)
            del self._writing[: len(group)]
            for one in group:
                one.succeed()


@dataclass(slots=True)
class Times:
    """When an owner's runs were asked for and answered, run by run."""

    asked_s: list[float] = field(default_factory=list)
    answered_s: list[float] = field(default_factory=list)


class Fleet:
    """All stations of a layout under loads."""

    def __init__(self, layout: Layout, loads: list[Load], costs: dict[str, float]) -> None:
        self.env = simpy.Environment()
        self.layout, self.costs = layout, costs
        self.scheduler = Station(self.env, layout.schedulers)
        self.store = Station(self.env, layout.stores)
        self.workers = Station(self.env, layout.workers)
        at_once = max(1, round(AHEAD * layout.workers / layout.fronts))
        self.fronts = [Front(self, at_once) for _ in range(layout.fronts)]
        self.times: dict[str, Times] = defaultdict(Times)
        self._random = random.Random(1)  # the same at each run
        self._runs = 0
        for load in loads:
            for number in range(load.callers):
                self.env.process(self._call(load, self.fronts[number % layout.fronts]))

    def _call(self, load: Load, front: Front) -> Steps:
        """One caller."""
        yield self.env.timeout(load.at_s)
        times = self.times[load.owner]
        while True:
            self._runs += 1
            run_s = load.run_s * self._random.uniform(0.5, 1.5)
            asked_s = self.env.now
            yield from front.run(str(self._runs), load.owner, run_s)
            times.asked_s.append(asked_s)
            times.answered_s.append(self.env.now)
            if not load.again:
                return

    def busy_s(self) -> dict[str, float]:
        """Seconds that stations were busy so far, for each of their parts; of fronts the mean."""
        fronts = len(self.fronts)
        return {
            "front": sum(one.processor.busy_s for one in self.fronts) / fronts,
            "journal": sum(one.journal_s for one in self.fronts) / fronts,
            "scheduler": self.scheduler.busy_s / self.layout.schedulers,
            "storage": self.store.busy_s / self.layout.stores,
            "workers": self.workers.busy_s / self.layout.workers,
        }
