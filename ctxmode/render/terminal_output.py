"""What programs print, for a terminal: text and colours, and nothing else that it would obey.

Sequences can set the clipboard and the window's title, or have the terminal type an answer as if a
person had. Programs run without a terminal, so honest ones print colours at most.
"""

from __future__ import annotations

import codecs
import re
import sys

# All control characters but line feed, tab, carriage return and backspace, which progress bars use;
# escape sequences but Select Graphic Rendition (ECMA-48, 8.3.117).
_OBEYED = re.compile(r"\x1b(?!\[[0-9;:]*m)|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
# Besides, in what a person decides by: colours can hide a line, carriage returns write over one,
# and format characters (Unicode's Cf) turn its order round or show nothing.
_MISLEADING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;:]{0,64})?\Z")


class OutputScreen:
    """A screen for one stream, cut into chunks anywhere."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Return what may be shown by now; at the `final` call all that is left."""
        text = self._held + self._decoder.decode(chunk, final)
        begun = None if final else _BEGUN.search(text)
        self._held = begun.group() if begun else ""
        return screen(text[: begun.start()] if begun else text).encode()


def screen(text: str) -> str:
    """Show what a terminal would obey rather than send it."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def for_review(text: str) -> str:
    """Prepare what a person decides by, on a terminal: nothing of it hides or overwrites
    another."""
    return _MISLEADING.sub(_spell, text) if sys.stdout.isatty() else text


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def for_stdout(text: str) -> str:
    """Screen `text` where standard output is a terminal."""
    return screen(text) if sys.stdout.isatty() else text
