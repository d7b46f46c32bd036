"""The system's clock, which may leap: old age counts only if records confirm it."""

from __future__ import annotations

from collections.abc import Iterable

DAY_S = 86_400.0


def find_witness_span(now: float, keep_s: float) -> tuple[float, float]:
    """Return the span in which something must have been recorded for the clock to be trusted: from
    `keep_s` ago to a day ago. After a leap of more than `keep_s` the span has no records. Later
    records have the time of the leap, so the last day does not count."""
    return now - keep_s, now - min(DAY_S, keep_s / 2)


def is_confirmed(now: float, keep_s: float, times: Iterable[float]) -> bool:
    """Return whether one of some records confirms the clock. Deletion only by age requires that."""
    first, last = find_witness_span(now, keep_s)
    return any(first <= one <= last for one in times)
