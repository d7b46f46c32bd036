"""What an agent is shown of a page: without the characters that hide or reorder text (C20)."""

from __future__ import annotations

import re

# Controls but tab and line feed; zero-width space and BOM; bidirectional marks, embeddings,
# overrides and isolates with their deprecated kin; tags, which spell out unseen ASCII.
# ZWNJ and ZWJ (U+200C, U+200D) stay: scripts and emoji are written with them.
_HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u206f\ufeff"
    "\U000e0000-\U000e007f]+"
)
_LINE_END = re.compile("\r\n?")
_SURROGATE = re.compile("[\ud800-\udfff]")


def sanitize(text: str) -> str:
    """Return a text as an agent may read it.

    A carriage return is a control, too: with or without its line feed it becomes a line feed, so
    that no two lines become one. A lone surrogate, which no answer can hold, becomes U+FFFD.
    """
    text = _HIDDEN.sub("", _LINE_END.sub("\n", text))
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
