"""Which candidate is taken of those that ran: the project's own, the ablest, the fastest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from runtimes.model import ProbeResult

# A toolchain further down the preference must be this much faster to be taken, so that noise in
# two close measurements does not make the choice flip from one start to the next.
_CLEARLY_FASTER: Final = 0.75


def choose(results: Iterable[ProbeResult], preferred: Sequence[str] = ()) -> ProbeResult | None:
    """The runnable result to use, or None when none runs.

    The first of the `preferred` toolchains that runs is taken, where any of them does. Else an
    interpreter that belongs to the project outranks everything, then the lowest `rank` counts.
    Among different toolchains of one rank the fastest is taken. Among several places of the same
    toolchain it is the first on the search path, which its user means.
    """
    runnable = sorted((r for r in results if r.runnable), key=lambda r: r.candidate.order)
    for name in preferred:
        if named := [r for r in runnable if r.candidate.toolchain.name == name]:
            runnable = named
            break
    own = [r for r in runnable if r.candidate.project_specific]
    if own:
        return own[0]
    if not runnable:
        return None
    rank = min(r.candidate.toolchain.rank for r in runnable)
    first_of_each: dict[str, ProbeResult] = {}
    for result in runnable:
        if result.candidate.toolchain.rank == rank:
            first_of_each.setdefault(result.candidate.toolchain.name, result)
    chosen, *others = first_of_each.values()
    for other in others:
        if _start_ms(other) < _start_ms(chosen) * _CLEARLY_FASTER:
            chosen = other
    return chosen


def _start_ms(result: ProbeResult) -> float:
    assert result.start_ms is not None  # only runnable results are compared
    return result.start_ms
