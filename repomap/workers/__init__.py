"""Worker processes that describe files: a parser that crashes loses only its file."""

from __future__ import annotations

from pathlib import Path

from kb.workers import WORKERS, WorkerDiedError, WorkerPool
from repomap.model import Structure
from repomap.structure import describe_structure, describe_unparsed, needs_parser
from repomap.workers.wire import FRAME_BYTES, decode_structure, encode_order

__all__ = ["WORKERS", "describe", "processes", "restart"]

_pool = WorkerPool(Path(__file__).with_name("__main__.py"), WORKERS, FRAME_BYTES)


def describe(data: bytes, language: str | None) -> Structure:
    """Return the structure of a file; a file that crashes its parser has a note instead."""
    if not needs_parser(data, language):
        return describe_structure(data, language)
    try:
        return decode_structure(_pool.exchange(encode_order(language), data), data)
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
