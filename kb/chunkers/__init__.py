"""One function a kind: source bytes in, marks out. `CHUNKERS` is the table of them.

To add a kind: a module here with a `marks(data, language)` function, a row in `CHUNKERS`, and the
rule in `kb.detect` by which sources of that kind are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb.chunk import Mark
from kb.chunkers import code, json, log, markdown, text

Chunker = Callable[[bytes, str | None], Iterable[Mark]]

CHUNKERS: dict[str, Chunker] = {
    "code": code.marks,
    "json": json.marks,
    "log": log.marks,
    "markdown": markdown.marks,
    "text": text.marks,
}

__all__ = ["CHUNKERS", "Chunker"]
