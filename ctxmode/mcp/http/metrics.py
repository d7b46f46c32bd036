"""The figures behind `/metrics`, in Prometheus's text format."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from fleet import Fleet

GAUGES = {
    "waiting": "Runs that wait for their turn",
    "running": "Runs that are with the engine",
}
COUNTERS = {
    "sent": "Runs that an engine accepted",
    "done": "Runs that ended",
    "lost": "How often an engine or a worker lost a run",
    "duplicates": "Outcomes that were dropped since another had come",
    "kept_here": "Runs that were done on this machine though they might have been sent",
}


class FleetCollector(Collector):
    """Sums the figures of all open projects' fleets up, whenever it is asked."""

    def __init__(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        self._list_fleets = list_fleets

    def collect(self) -> Iterator[Metric]:
        """Give every figure as it is now; none where nothing is sent anywhere."""
        fleets = [(f.settings.url.partition("://")[0], f) for f in self._list_fleets()]
        if not fleets:
            return
        for name, about in GAUGES.items():
            gauge = GaugeMetricFamily(f"ctxmode_fleet_{name}", about, labels=["owner", "engine"])
            now = _sum((e, getattr(fleet.turns, name)()) for e, fleet in fleets)
            for labels, amount in now.items():
                gauge.add_metric(labels, amount)
            yield gauge
        for name, about in COUNTERS.items():
            counts = CounterMetricFamily(f"ctxmode_fleet_{name}", about, labels=["owner", "engine"])
            found = _sum((e, getattr(fleet.figures, name)) for e, fleet in fleets)
            for labels, amount in found.items():
                counts.add_metric(labels, amount)
            yield counts
        yield from _measure([fleet for _, fleet in fleets])


def _sum(counted: Iterable[tuple[str, dict[str, int]]]) -> collections.Counter[tuple[str, str]]:
    total: collections.Counter[tuple[str, str]] = collections.Counter()
    for engine, by_owner in counted:
        for owner, amount in by_owner.items():
            total[owner, engine] += amount
    return total


def _measure(fleets: list[Fleet]) -> Iterator[Metric]:
    seconds = SummaryMetricFamily(
        "ctxmode_fleet_seconds", "What each part of a run's way took", labels=["stage"]
    )
    stages = {stage for fleet in fleets for stage in fleet.figures.times}
    for stage in sorted(stages):
        times = sum(fleet.figures.times[stage] for fleet in fleets)
        took_s = sum(fleet.figures.seconds[stage] for fleet in fleets)
        seconds.add_metric([stage.value], times, took_s)
    yield seconds
    moved = CounterMetricFamily("ctxmode_fleet_bytes", "Bytes of blobs", labels=["direction"])
    moved.add_metric(["sent"], sum(fleet.figures.bytes_sent for fleet in fleets))
    moved.add_metric(["back"], sum(fleet.figures.bytes_back for fleet in fleets))
    yield moved


SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "ctxmode_tool_calls",
            "Tool calls that were answered",
            ["tool", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "ctxmode_tool_seconds",
            "From a tool call to its answer",
            ["tool"],
            buckets=SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def show_fleets(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        """Show the figures of these, too, as they are when they are asked for."""
        self._registry.register(FleetCollector(list_fleets))

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call; `outcome` is "ok" or "error"."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def text(self) -> bytes:
        """Write all figures as they are now."""
        return generate_latest(self._registry)
