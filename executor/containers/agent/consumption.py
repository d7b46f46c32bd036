"""What the container's control group says that its processes used and were refused."""

from __future__ import annotations

from pathlib import Path

from executor.spawner.messages import ConsumptionMessage

GROUPS = Path("/sys/fs/cgroup")  # version 2: the container's own group; version 1: one a controller
MEMORY_PEAK = ("memory.peak", "memory/memory.max_usage_in_bytes")
MEMORY_EVENTS = ("memory.events", "memory/memory.oom_control")
PROCESS_EVENTS = ("pids.events", "pids/pids.events")


def read() -> ConsumptionMessage:
    """What it counted; what nothing tells is none or nought."""
    peak = _first(MEMORY_PEAK)
    return {
        "peak_memory_bytes": int(peak) if peak.isdigit() else None,
        "oom_kills": _event(_first(MEMORY_EVENTS), "oom_kill"),
        "fork_refusals": _event(_first(PROCESS_EVENTS), "max"),
    }


def _first(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return (GROUPS / name).read_text().strip()
        except OSError:
            continue
    return ""


def _event(text: str, name: str) -> int:
    words = text.split()
    pairs = dict(zip(words[::2], words[1::2]))  # noqa: B905 - what is odd at the end names nothing
    return int(pairs.get(name, 0))
