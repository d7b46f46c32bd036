"""Which kind a source is, and in what language: said, else by media type, name, shebang, shape.

Never by guessing a lexer from the text, and never Markdown by default: what nothing identifies is
plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb import filetypes, shapes

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
    for by, find, given in (  # in this order, for looking at the text takes longest
        ("media type", filetypes.by_media_type, media_type),
        ("name", filetypes.by_name, name),
        ("shebang", _by_shebang, data),
        ("shape", shapes.by_shape, data),
    ):
        if given and (found := find(given)):
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
