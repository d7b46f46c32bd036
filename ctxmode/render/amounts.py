"""Sizes, times and counts in words for people."""

from __future__ import annotations


def size(count: int) -> str:
    """Write bytes for people: `812 B`, `4.0 KB`, `1.2 MB`; powers of 1024."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KB", "MB", "GB"):
        amount /= 1024
        if amount < 1024 or unit == "GB":
            break
    return f"{amount:.1f} {unit}"


def age(seconds: float) -> str:
    """Write a time span for people, in its largest whole unit: `45 s`, `12 min`, `3 h`, `9 d`."""
    for unit, length_s in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds // length_s:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def inflect(count: int, noun: str) -> str:
    """Write a number of things: `1 file`, `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
