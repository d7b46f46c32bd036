"""The start of a hint: what was probably meant by a word that means nothing."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Find the nearest known word; empty where none is near."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    return next(iter(difflib.get_close_matches(word, tuple(known), n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Write `Did you mean X? `, or nothing."""
    meant = nearest(word, known, cutoff)
    return f"Did you mean {meant}? " if meant else ""


def or_all(word: str, known: Iterable[str], what: str, cutoff: float = 0.6) -> str:
    """Write the whole hint: what was probably meant, and all that there is."""
    names = tuple(known)
    return f"{did_you_mean(word, names, cutoff)}{what}: {', '.join(names)}."
