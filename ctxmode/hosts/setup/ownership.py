"""The commands that are ours in a host's files; others, wrappers of ours too, are a person's."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PROGRAM = "context-mode"
_SERVE = "serve"


@dataclass(frozen=True, slots=True)
class Owner:
    """The commands by which hosts call this program, besides its own name.

    `command` is written. With `is_given` a person named it, and it takes the place of any other of
    ours. `recorded` is what the host's entry of our server has, if that is one word.
    """

    command: Sequence[str]
    is_given: bool = False
    recorded: Sequence[str] = ()

    def owns(self, words: Sequence[str]) -> bool:
        """Return whether some words are a command of ours."""
        own = (list(self.command), list(self.recorded))
        return is_program(words) or (bool(words) and list(words) in own)

    def owns_hook(self, line: str, adapter: str, event: str) -> bool:
        """Return whether a line calls the hook of an event, and does nothing besides."""
        words = _split(line)
        return words[-3:] == ["hook", adapter, event] and self.owns(words[:-3])

    def update_hook(self, line: str, adapter: str, event: str) -> str:
        """Return what is written in the place of a line of ours: a command that a person chose
        stays, unless they name another."""
        words = _split(line)[:-3]
        if not self.is_given and not is_program(words):
            return line
        return shlex.join([*self.command, "hook", adapter, event])

    def is_called_by(self, line: str, adapter: str, event: str) -> bool:
        """Return whether a person's line calls the hook of an event, as a wrapper does."""
        ends = {words[-1] for words in (self.command, self.recorded) if words}
        names = "|".join(map(re.escape, (_PROGRAM, "-m ctxmode", *sorted(ends))))
        return re.search(rf"(?:{names})['\"]? +hook +{adapter} +{event}\b", line) is not None


def is_program(words: Sequence[str]) -> bool:
    """Return whether some words are this program, wherever it is installed."""
    if len(words) == 1:
        return os.path.basename(words[0]) == _PROGRAM
    return list(words[1:]) == ["-m", "ctxmode"]


def split_server(entry: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    """Split a server's command where it says `serve`: the program, and arguments behind that word.
    None if the entry starts something else, such as a wrapper."""
    words: list[str] = []
    for given in (entry.get("command"), entry.get("args")):
        words += (
            map(str, given)
            if isinstance(given, list)
            else [given]
            if isinstance(given, str)
            else []
        )
    if _SERVE not in words:
        return None
    at = words.index(_SERVE)
    program = words[:at]
    return (program, words[at + 1 :]) if len(program) == 1 or is_program(program) else None


def is_foreign(entry: Mapping[str, Any]) -> bool:
    """Return whether a server by our name is a person's: it starts a wrapper, or is reached by its
    address."""
    has_address = any(name.lower().endswith("url") for name in entry)
    return has_address or ("command" in entry and split_server(entry) is None)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []
