"""What can be typed besides programs: lines that begin with a full stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxmode.errors import UsageError

COMMANDS = {
    ".help": "tell these",
    ".load FILE": "run a program of the project here, and keep what it defines",
    ".save FILE": "write what was typed so far to a new file",
    ".reset": "start anew: variables and files of the session are gone",
    ".quit": "leave, as Ctrl-D does",
}
_TAKES_FILE = {form.split()[0]: " " in form for form in COMMANDS}


@dataclass(frozen=True, slots=True)
class ReplCommand:
    """One of `COMMANDS`, with its file if it takes one."""

    name: str
    file: str = ""


def is_command(text: str) -> bool:
    """Tell whether a text is meant for the session itself; all else is a program."""
    return "\n" not in text and text.split(" ", maxsplit=1)[0].rstrip() in _TAKES_FILE


def parse(text: str) -> ReplCommand:
    """Read a command and its file; a UsageError says that it lacks one, or has one that means
    nothing."""
    name, _, file = text.strip().partition(" ")
    if bool(file.strip()) != _TAKES_FILE[name]:
        form = next(form for form in COMMANDS if form.split()[0] == name)
        raise UsageError(f"{text.strip()!r} is not understood", f"Say {form}.")
    return ReplCommand(name, file.strip())


def help_text() -> str:
    """List all commands, a line each, and the keys."""
    lines = [f"{form:<12} {meaning}" for form, meaning in COMMANDS.items()]
    keys = "Ctrl-C stops a program, an empty line ends one, Alt-Enter breaks a line."
    return "\n".join([*lines, keys])


def save(programs: Sequence[str], file: Path) -> str:
    """Write programs to a new file and return what to say of it; a UsageError says that it exists,
    or cannot be written."""
    text = "".join(f"{program.rstrip()}\n" for program in programs)
    try:
        with file.open("x", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} exists already", "Name another file.") from error
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}", "Name another.") from error
    return f"{len(programs)} programs saved to {file}"
