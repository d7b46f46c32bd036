"""Plain text has no sections: it is cut at blank lines and lines, by the packer alone."""

from __future__ import annotations

from collections.abc import Iterator

from kb.chunks import Mark


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """No marks; the last resort for whatever no other chunker understands."""
    yield from ()
