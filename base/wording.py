"""Wording shared by all messages: remedies, choices, numbers of things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self


class Remedy(str):
    """A text with an action for the user. It is a plain text when shown, joined or written as JSON.

    Attributes:
        command: the command to type; empty if no command does it.
    """

    __slots__ = ("command",)
    command: str

    def __new__(cls, text: str, command: str = "") -> Self:
        made = super().__new__(cls, text)
        made.command = command
        return made


def type_command(command: str) -> Remedy:
    """Return the remedy whose text is its command."""
    return Remedy(command, command)


def command_of(text: str) -> str:
    """Return the command of a remedy; empty for any other text."""
    return text.command if isinstance(text, Remedy) else ""


def find_nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Find the known word most similar to `word` in any case; empty if none is, or it is known."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=cutoff)
    return names[near[0]] if near and names[near[0]] != word else ""


def suggest_nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Write `Did you mean X? `, or nothing."""
    meant = find_nearest(word, known, cutoff)
    return f"Did you mean {meant}? " if meant else ""


def list_choices(
    word: str, known: Iterable[str], lead: str = "Choose from", cutoff: float = 0.6
) -> str:
    """Write a remedy: the name that was probably meant, then all names; empty without names."""
    names = tuple(filter(None, known))
    if not names:
        return ""
    return f"{suggest_nearest(word, names, cutoff)}{lead}: {', '.join(names)}."


def inflect(count: int, noun: str, plural: str = "") -> str:
    """Write a number of things: `1 file`, `2 files`, `3 entries`; thousands have commas."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"
