"""Why a program's verdict is the strictest rule's: nobody could say in time what it does."""

from __future__ import annotations

from collections.abc import Callable

TOO_LARGE = "it is too large to be understood in the time for a verdict; run less at once"

Report = Callable[[Exception], str]  # tells who can mend a defect, and gives a sentence on it


def not_judged(report: str) -> str:
    """The reason where judging raised an exception, of which this is the report."""
    return f"it could not be judged: {' '.join(report.split())}"
