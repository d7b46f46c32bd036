"""Worker processes that describe files: a parser that crashes loses only its file.

Messages are JSON, since a parsed file may have taken the worker over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kb.workers import WORKERS, WorkerDiedError, WorkerPool
from repomap.import_queries import IMPORTS_MAX, NAMES_MAX
from repomap.importing.tree import MODULE_CHARS
from repomap.model import LINE_CHARS, Import, Structure, Symbol
from repomap.structure import (
    KINDS,
    NAME_BYTES,
    REFERENCES_MAX,
    SKELETON_BYTES,
    SYMBOLS_MAX,
    describe_structure,
    describe_unparsed,
    needs_parser,
)

__all__ = ["WORKERS", "describe", "processes", "restart"]

FRAME_BYTES = 32 * 1024 * 1024
"""Limit of an answer; no intact worker sends a longer one."""

_FORMS = frozenset(["", "quoted", "angled", "mod", "use", "relative", "file"])
_pool = WorkerPool(Path(__file__).with_name("__main__.py"), WORKERS, FRAME_BYTES)


def describe(data: bytes, language: str | None) -> Structure:
    """Return the structure of a file; a file that crashes its parser has a note instead."""
    if not needs_parser(data, language):
        return describe_structure(data, language)
    order = json.dumps({"language": language}).encode()
    try:
        return decode_structure(_pool.exchange(order, data), data)
    except WorkerDiedError as error:
        return describe_unparsed(data, language, f"its parser ended: {error}")
    except ValueError as error:
        return describe_unparsed(data, language, f"its parser's answer is invalid: {error}")


def processes() -> list[int]:
    """Return the ids of the workers that wait for work."""
    return _pool.processes()


def restart() -> None:
    """End the waiting workers; the next work starts new ones."""
    _pool.close()


def do_order(header: bytes, data: bytes) -> bytes:
    """Describe a file as an order requests."""
    return encode_structure(describe_structure(data, json.loads(header)["language"]))


def encode_structure(found: Structure) -> bytes:
    """Return the rows of a structure."""
    symbols = [
        (one.name, one.kind, one.parent, one.start_line, one.end_line, one.signature)
        for one in found.symbols
    ]
    imports = [(one.module, one.names, one.form) for one in found.imports]
    rows = (symbols, found.references, imports, found.purpose, found.skeleton, found.note)
    return json.dumps(rows).encode()


def decode_structure(frame: bytes, data: bytes) -> Structure:
    """Return the structure in a worker's answer `data`.

    Raises:
        ValueError: the answer is not one of an intact worker.
    """
    try:
        symbols, references, imports, purpose, skeleton, note = _rows(json.loads(frame), 6)
        lines = data.count(b"\n") + 1
        return Structure(
            symbols=tuple(_symbol(row, lines) for row in _rows(symbols, SYMBOLS_MAX)),
            references=tuple(
                (_line(name, NAME_BYTES), _count(count, len(data)))
                for name, count in _rows(references, REFERENCES_MAX)
            ),
            imports=tuple(_import(row) for row in _rows(imports, IMPORTS_MAX)),
            purpose=_line(purpose),
            skeleton=_text(skeleton, SKELETON_BYTES),
            note=_line(note),
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _symbol(row: object, lines: int) -> Symbol:
    name, kind, parent, start, end, signature = _rows(row, 6)
    if _line(kind) not in KINDS:
        raise ValueError(f"unknown kind of symbol: {kind!r:.40}")
    if _count(start, lines) > _count(end, lines):
        raise ValueError(f"lines {start} to {end}")
    return Symbol(_line(name), kind, _line(parent), start, end, _line(signature))


def _import(row: object) -> Import:
    module, names, form = _rows(row, 3)
    if _line(form) not in _FORMS:
        raise ValueError(f"unknown form of import: {form!r:.40}")
    taken = tuple(_line(name, MODULE_CHARS) for name in _rows(names, NAMES_MAX))
    return Import(_line(module, MODULE_CHARS), taken, form)


def _rows(value: object, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise TypeError(f"{value!r:.40} is not a list of up to {most}")
    return value


def _line(value: object, chars: int = LINE_CHARS) -> str:
    text = _text(value, chars)
    if len(text.splitlines()) > 1:
        raise ValueError(f"{value!r:.40} is more than one line")
    return text


def _text(value: object, chars: int) -> str:
    if not isinstance(value, str) or len(value) > chars:
        raise TypeError(f"{value!r:.40} is not a text of up to {chars} characters")
    value.encode()  # half of a surrogate pair, possible in JSON, cannot be stored
    return value


def _count(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise TypeError(f"{value!r:.40} is not a number from 1 to {most}")
    return value
