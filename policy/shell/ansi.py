"""Backslash escapes of `$'...'`, `printf` and `echo -e`."""

from __future__ import annotations

import re

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_REST = (
    r"|x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u4>[0-9a-fA-F]{1,4})"
    r"|U(?P<u8>[0-9a-fA-F]{1,8})|c(?P<control>.)|(?P<simple>.))"
)
_QUOTED = r"(?s)\\(?:(?P<octal>[0-7]{1,3})" + _REST
_PRINTED = r"(?s)\\(?:0?(?P<octal>[0-7]{1,3})" + _REST


def unescape(text: str, *, printed: bool = False) -> str:
    r"""Decode backslash escapes as bash does. `printed` is the dialect of `echo -e` and `printf
    %b`, where an octal escape may be written `\0nnn`. An unknown escape keeps its backslash."""
    return re.sub(_PRINTED if printed else _QUOTED, _decode, text)


def _decode(match: re.Match[str]) -> str:
    if octal := match["octal"]:
        return chr(int(octal, 8) & 0xFF)
    if digits := match["hex"] or match["u4"] or match["u8"]:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    if control := match["control"]:
        return chr(ord(control) & 0x1F)
    return _SIMPLE.get(match["simple"], match.group())
