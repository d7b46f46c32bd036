"""What would help where something does not work: a text, and the command that does it."""

from __future__ import annotations

from typing import Self


class Remedy(str):
    """A text for people; `command` is what to type, empty where no command does it.

    It is a plain text wherever one is shown, joined or written as JSON.
    """

    __slots__ = ("command",)
    command: str

    def __new__(cls, text: str, command: str = "") -> Self:
        made = super().__new__(cls, text)
        made.command = command
        return made


def type_command(command: str) -> Remedy:
    """A remedy that is its command."""
    return Remedy(command, command)


def command_of(text: str) -> str:
    """The command of a remedy; empty for any other text."""
    return text.command if isinstance(text, Remedy) else ""
