"""Text for a terminal: passages in colour, control characters shown as text."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module

from ctxmode.render.terminal_output import disarm, is_runner


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


# All control characters except line feed and tab: escape sequences, carriage returns, C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Line feed and tab as well, and the line ends of Unicode.
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_NAMES = {"tsx": "typescript", "dockerfile": "docker", "notebook": "json", "jsonl": "json"}


def is_colour_wanted() -> bool:
    """Return whether standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def harmless(text: str) -> str:
    """Replace control characters in `text` by visible text, and disarm commands of CI runners."""
    text = disarm(text) if is_runner() else text
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def one_line(text: str) -> str:
    """Write `text`, such as a file's name, on one line, with control characters escaped."""
    text = disarm(text) if is_runner() else text
    return _NO_TEXT.sub(lambda found: repr(found.group())[1:-1], text)


def heading(text: str) -> str:
    return f"{_BOLD}{harmless(text)}{_PLAIN}"


def colour(text: str, language: str | None) -> str:
    """Colour `text` by its language's lexer; leave it plain if there is no lexer."""
    plain = harmless(text)
    if language is None:
        return plain
    lexers, util = import_module("pygments.lexers"), import_module("pygments.util")
    try:
        lexer = lexers.get_lexer_by_name(
            _NAMES.get(language, language), stripnl=False, ensurenl=False
        )
    except util.ClassNotFound:
        return plain
    formatter = import_module("pygments.formatters").TerminalFormatter()
    return str(import_module("pygments").highlight(plain, lexer, formatter))
