"""One line of an ignore file, as git reads it, in time that pattern and path bound.

A name's pattern becomes a regular expression that never goes back: what stands between two stars is
taken where it is first found (an atomic group), which is where it leaves most for the rest. In the
same way names between two `**` are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CHARS_MAX = 1024
STARS_MAX = 64

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\v\\f", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_ESCAPED_SLASH = re.compile(r"(?<!\\)((?:\\\\)*+)\\/")
_STAR = "*"
_NOTHING = "(?!)"


class PatternTooLargeError(ValueError):
    """A pattern is longer, or has more stars, than what is matched."""


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """A line that says something. `is_bare`: it has no slash and fits a name in any folder."""

    expression: re.Pattern[str] | None  # None where the text itself is all that fits
    text: str
    is_bare: bool
    only_folders: bool
    ignores: bool

    def fits(self, relative: str, name: str, *, is_folder: bool) -> bool:
        """Whether the line is about a path, relative to its file's folder."""
        if self.only_folders and not is_folder:
            return False
        subject = name if self.is_bare else relative
        if self.expression is None:
            return subject == self.text
        return self.expression.match(subject) is not None


def ignore_pattern(line: str) -> IgnorePattern | None:
    """The pattern of a line; None for a comment, an empty line, and one that fits nothing.

    Raises:
        PatternTooLargeError: it has over 1,024 characters or 64 stars.
    """
    text = _without_end(line)
    if not text or text.startswith("#"):
        return None
    if len(text) > CHARS_MAX:
        raise PatternTooLargeError(f"has over {CHARS_MAX:,} characters")
    if text.count("*") > STARS_MAX:
        raise PatternTooLargeError(f"has over {STARS_MAX} stars")
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    is_bare = "/" not in text
    text = text.removeprefix("/")
    if not text:
        return None
    is_plain = not any(char in text for char in "*?[\\")
    expression = None if is_plain else re.compile(_path(text), re.DOTALL)
    return IgnorePattern(expression, text, is_bare, only_folders, ignores)


def _without_end(line: str) -> str:
    """The line without spaces at its end, but for one behind a backslash."""
    text = line.rstrip("\r")
    bare = text.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and len(bare) < len(text) else bare


def _path(text: str) -> str:
    """The expression of a whole pattern: runs of names, with any folders between two runs."""
    first, *others = _runs(_ESCAPED_SLASH.sub(r"\1/", text))
    found = "/".join(map(_name, first))
    for number, names in enumerate(others):
        lead = "/" if first or number else ""
        expression = "/".join(map(_name, names))
        if number < len(others) - 1:
            found += f"{lead}(?>(?:[^/]++/)*?{expression}(?=/))"
        elif names:
            found += f"{lead}(?:[^/]++/)*?{expression}"
        else:
            found += f"{lead}.+"  # all that is in a folder, but not the folder itself
    return found + r"\Z"


def _runs(text: str) -> list[list[str]]:
    """The names between each two `**`, the first and the last run maybe of none."""
    runs: list[list[str]] = [[]]
    for name in text.split("/"):
        if len(name) < 2 or name.strip("*"):
            runs[-1].append(name)
        elif len(runs) == 1 or runs[-1]:
            runs.append([])
    return runs


def _name(text: str) -> str:
    """The expression of one name."""
    pieces = [""]
    for part in _parts(text):
        if part is _STAR:
            pieces.append("")
        else:
            pieces[-1] += part
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _parts(text: str) -> Iterator[str]:
    """The expressions of a name's characters, and its stars."""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            yield _STAR
        elif char == "?":
            yield "[^/]"
        elif char == "[":
            expression, at = _set(text, at)
            yield expression
        elif char == "\\":
            # At the end it escapes nothing, and git has it fit nothing.
            yield re.escape(text[at]) if at < len(text) else _NOTHING
            at += 1
        else:
            yield re.escape(char)


def _set(text: str, at: int) -> tuple[str, int]:
    """The expression of the set that begins behind a bracket, and where it ends."""
    is_negated = text[at : at + 1] in ("!", "^")
    at += is_negated
    start, members = at, ""
    while text[at : at + 1] != "]" or at == start:
        if at >= len(text):
            return _NOTHING, at  # it never ends
        if text.startswith("[:", at) and (end := text.find(":]", at + 2)) > 0:
            if (named := _CLASSES.get(text[at + 2 : end])) is None:
                return _NOTHING, len(text)
            members += named
            at = end + 2
            continue
        first, at = _member(text, at)
        last = first
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            last, at = _member(text, at + 1)
        if first <= last:
            members += f"{_escape(first)}-{_escape(last)}"
    if not members:
        return ("[^/]" if is_negated else _NOTHING), at + 1
    return (f"[^/{members}]" if is_negated else f"(?!/)[{members}]"), at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    """One character of a set, and where the next begins."""
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1


def _escape(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&~|" else char
