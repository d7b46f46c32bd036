"""What goes between this process and a describing worker: JSON, for a worker may have been taken
over by what it parsed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from repomap.model import LINE_CHARS, Import, Structure, Symbol
from repomap.structure import REFERENCES_MAX, SKELETON_CHARS, SYMBOLS_MAX, describe_structure

_NAME_CHARS = 400
_IMPORTS_MAX = 5000


def encode_order(language: str | None) -> bytes:
    """Return an order for one file."""
    return json.dumps({"language": language}).encode()


def answer(header: bytes, data: bytes) -> bytes:
    """Describe a file as its order says."""
    found = describe_structure(data, json.loads(header)["language"])
    return json.dumps(astuple(found)).encode()


def decode_structure(frame: bytes, data: bytes) -> Structure:
    """Return the structure that a worker tells of `data`.

    Raises:
        ValueError: the answer is none that a sound worker gives; TypeError and KeyError, too.
    """
    symbols, references, imports, purpose, skeleton, note = json.loads(frame)
    lines = data.count(b"\n") + 1
    return Structure(
        symbols=tuple(_symbol(row, lines) for row in symbols[:SYMBOLS_MAX]),
        references=tuple((_text(n), _count(c)) for n, c in references[:REFERENCES_MAX]),
        imports=tuple(
            Import(_text(module), tuple(map(_text, names)), _text(form))
            for module, names, form in imports[:_IMPORTS_MAX]
        ),
        purpose=_text(purpose, LINE_CHARS),
        skeleton=_text(skeleton, SKELETON_CHARS),
        note=_text(note),
    )


def _symbol(row: Sequence[Any], lines: int) -> Symbol:
    name, kind, parent, start, end, signature = row
    if not 1 <= _count(start) <= _count(end) <= lines:
        raise ValueError(f"lines {start} to {end} of {lines}")
    return Symbol(_text(name), _text(kind), _text(parent), start, end, _text(signature))


def _text(value: object, chars: int = _NAME_CHARS) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value[:chars]


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is no number")
    return value
