"""Which kind a source is, and in what language: said, else by media type, name, shebang, shape.

Never by guessing a lexer from the text, and never Markdown by default: what nothing identifies is
plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kb import filetypes, shapes

_Look = Callable[[], tuple[str, str | None] | None]

_SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?")


@dataclass(frozen=True, slots=True)
class Detected:
    """A kind (a key of `kb.CHUNKERS`), the language where it has one, and what decided it."""

    kind: str
    language: str | None
    by: str


def detect(
    data: bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    kind: str | None = None,
    language: str | None = None,
) -> Detected:
    """What `data` is. `data` may be its beginning only; 4 KiB of it suffice."""
    if language is not None:
        language = filetypes.canonical_language(language)
    if kind is not None:
        return Detected(kind, language, "said")
    if language is not None:
        return Detected(filetypes.kind_of_language(language), language, "said")
    looks: tuple[tuple[str, _Look], ...] = (  # at the text itself last: that takes longest
        ("media type", lambda: filetypes.by_media_type(media_type) if media_type else None),
        ("name", lambda: filetypes.by_name(name) if name else None),
        ("shebang", lambda: _by_shebang(data)),
        ("shape", lambda: shapes.by_shape(data)),
    )
    for by, look in looks:
        if (found := look()) is not None:
            return Detected(*found, by)
    return Detected("text", None, "nothing else fits")


def _by_shebang(data: bytes) -> tuple[str, str | None] | None:
    found = _SHEBANG.match(data[:256])
    if found is None:
        return None
    program = found.group(1).rsplit(b"/", 1)[-1]
    if program == b"env" and found.group(2):
        program = found.group(2)
    return filetypes.by_interpreter(program.decode("utf-8", "replace"))
