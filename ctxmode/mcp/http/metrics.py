"""The figures behind `/metrics`, in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from ctxmode.mcp.http.fleet_metrics import FleetCollector

if TYPE_CHECKING:
    from fleet.front import Fleet

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
