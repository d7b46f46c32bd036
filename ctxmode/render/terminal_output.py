"""Output of programs without commands for a terminal or for the log of a CI runner.

Sequences can set the clipboard and the window's title, or make the terminal type an answer as if
the user had. Programs run without a terminal, so honest ones print at most colours. A CI runner
executes some lines of a log as commands: they set variables, hide text or mark a job as failed.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from typing import IO, Any

# All control characters except line feed, tab, carriage return and backspace, which progress bars
# use; all escape sequences except Select Graphic Rendition (ECMA-48, 8.3.117).
_OBEYED = re.compile(r"\x1b(?!\[[0-9;:]*m)|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
# Also removed from texts for review: colours can hide a line, carriage returns overwrite one, and
# format characters (Unicode's Cf) reverse its order or are invisible.
_MISLEADING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;:]{0,64})?\Z")

# Variables of runners. The program's image sets CI, since a container does not get the others.
RUNNER_VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
# Characters that a runner ignores before a command.
_BLANK = (
    r"[\x00-\x09\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060"
    r"\u3000\ufeff]*"
)
_COMMAND = re.compile(
    r"##(?=(?:vso|teamcity)?\[)"  # Azure Pipelines, TeamCity, older GitHub: anywhere in a line
    r"|section_(?:start|end)(?=:[0-9])"  # GitLab
    rf"|(?:\A|(?<=[\n\r])){_BLANK}:(?=:[a-z])",  # GitHub: where a line begins
    re.IGNORECASE,
)
_LINE_BEGUN = re.compile(rf"(?:\A|[\n\r]){_BLANK}\Z")
_SIGNS = ("##[", "##vso[", "##teamcity[", "section_start:0", "section_end:0", "::a")
_SIGN_CHARS_MAX = max(map(len, _SIGNS))


class OutputScreen:
    """Filter of one stream in arbitrary chunks: for a terminal, a runner's log or both."""

    def __init__(self, *, is_terminal: bool = True, is_log: bool = False) -> None:
        # A log may be a pipe to another program, with bytes that are not text.
        self._errors = "replace" if is_terminal else "surrogateescape"
        self._decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        self._is_terminal = is_terminal
        self._is_log = is_log
        self._held = ""
        self._before = ""  # the line so far; empty if a command may still begin

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Return the text that can be shown already; the `final` call returns the rest."""
        text = self._held + self._decoder.decode(chunk, final)
        end = len(text) if final else self._find_begun(text)
        self._held, text = text[end:], text[:end]
        if self._is_log:
            text = self._disarm(text)
        return (screen(text) if self._is_terminal else text).encode("utf-8", self._errors)

    def _find_begun(self, text: str) -> int:
        """Return the start of an incomplete sequence or command at the end of `text`."""
        begun = _BEGUN.search(text) if self._is_terminal else None
        end = begun.start() if begun else len(text)
        if self._is_log:
            tail = text[max(end - _SIGN_CHARS_MAX, 0) : end].lower()
            for size in range(len(tail), 0, -1):
                if any(len(sign) > size and sign.startswith(tail[-size:]) for sign in _SIGNS):
                    # The held letter may turn the colons before it into a command.
                    before = tail[-size - 2 : -size]
                    return end - size - len(before) + len(before.rstrip(":"))
        return end

    def _disarm(self, text: str) -> str:
        whole = self._before + text
        shown = disarm(whole)[len(self._before) :]
        self._before = "" if _LINE_BEGUN.search(whole) else "x"
        return shown


def is_runner() -> bool:
    """Return whether a CI runner has started this process."""
    values = (os.environ.get(name, "") for name in RUNNER_VARIABLES)
    return any(value.lower() not in ("", "0", "false") for value in values)


def is_runner_log(stream: IO[Any]) -> bool:
    """Return whether a CI runner may read a stream, that is, it is not redirected into a file."""
    try:
        return is_runner() and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return is_runner()


def disarm(text: str) -> str:
    """Insert a space into commands for a CI runner; leave all other text unchanged."""
    return _COMMAND.sub(r"\g<0> ", text)


def screen(text: str) -> str:
    """Replace control sequences of terminals by visible text."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def for_review(text: str) -> str:
    """Prepare a text that the user reviews on a terminal: no part hides or overwrites another."""
    return _MISLEADING.sub(_spell, text) if sys.stdout.isatty() else text


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def for_stdout(text: str) -> str:
    """Screen `text` if standard output is a terminal or a runner's log."""
    if is_runner_log(sys.stdout):
        return screen(disarm(text))
    return screen(text) if sys.stdout.isatty() else text
