"""Refusals that the executor knows of exactly: the proxy's, the commit's, the limits'."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator

from executor.engine.exit import Consumption
from executor.model import Result, Status
from executor.run.refusals.sources import SOURCES, Found

CAN_BE_GRANTED = ("the profile does not name it", "is not allowed for it")
UNKNOWN_HOST = "?"
STATUS_LIMITS = {
    Status.TIMED_OUT: "wall_s",
    Status.MEMORY_LIMIT: "memory_bytes",
    Status.CPU_LIMIT: "cpu_s",
    Status.PROCESS_LIMIT: "processes",
    Status.OUTPUT_LIMIT: "output_bytes",
    Status.DISK_LIMIT: "scratch_bytes",
}
# What a shell says of a child that was ended by a signal.
SHELL_SIGNAL_BASE = 128
SIZE_SIGNALS = frozenset({signal.SIGXFSZ, SHELL_SIGNAL_BASE + signal.SIGXFSZ})


def of_connections(result: Result) -> Iterator[Found]:
    """Those of the proxy, each host and port once."""
    refused = Counter(
        (c.host, c.port, c.reason)
        for c in result.connections
        if not c.allowed and c.host != UNKNOWN_HOST
    )
    for (host, port, reason), count in refused.items():
        source = SOURCES["proxy" if reason.endswith(CAN_BE_GRANTED) else "proxied"]
        target = host if port in (80, 443) else f"{host}:{port}"
        yield source.found(target, count, reason)


def of_commit(result: Result) -> Iterator[Found]:
    """What did not reach the project.

    A conflict is none, since there the host was first, and neither is what a deletion left alone,
    which the run did not see.
    """
    for left in result.not_committed:
        if left.kind in SOURCES:
            yield SOURCES[left.kind].found(left.path, why=left.reason)


def of_limits(result: Result, consumed: Consumption | None) -> Iterator[Found]:
    """The limits that the run met, or one of its processes."""
    counts: dict[str, int] = {}
    if result.status in STATUS_LIMITS:
        counts[STATUS_LIMITS[result.status]] = 1
    if consumed and consumed.oom_kills:
        counts["memory_bytes"] = consumed.oom_kills
    if consumed and consumed.fork_refusals:
        counts["processes"] = consumed.fork_refusals
    for name, count in counts.items():
        yield SOURCES["full" if name == "scratch_bytes" else "limit"].found(name, count)
    if {result.signal, result.exit_code} & SIZE_SIGNALS:
        yield SOURCES["met limit"].found("file_bytes")
