"""The workers that chunk and convert for this process."""

from __future__ import annotations

from pathlib import Path

from kb.chunks import ChunkedDocument
from kb.detect import Detected
from kb.html_markdown import bare_text
from kb.workers.processes import WORKERS, WorkerDiedError, WorkerPool
from kb.workers.wire import ChunkOrder, ConvertOrder, decode_document, encode_job

__all__ = ["WORKERS", "WorkerDiedError", "chunk", "processes", "restart", "to_markdown"]

_pool = WorkerPool(Path(__file__).with_name("__main__.py"))


def chunk(
    data: bytes, detected: Detected, *, base_byte: int = 0, base_line: int = 1
) -> ChunkedDocument:
    """`data` chunked in a worker, with the words of every chunk.

    Raises:
        WorkerDiedError: it cannot be chunked so; it is to be cut as text.
    """
    job = ChunkOrder(detected.kind, detected.language, base_byte, base_line)
    reply = _pool.exchange(encode_job(job), data)
    try:
        return decode_document(reply, data, detected, base_byte)
    except (ValueError, TypeError, KeyError) as error:
        raise WorkerDiedError(f"its answer makes no sense: {error}") from error


def to_markdown(html: str, *, base_url: str | None = None) -> str:
    """A page as `kb.html_markdown.to_markdown` has it; its bare text where the worker dies."""
    order = encode_job(ConvertOrder(base_url))
    try:
        return _pool.exchange(order, html.encode("utf-8", "replace")).decode()
    except (WorkerDiedError, UnicodeDecodeError):
        return bare_text(html)


def processes() -> list[int]:
    """The ids of the workers that wait for work."""
    return _pool.processes()


def restart() -> None:
    """End the workers that wait for work; the next work starts new ones."""
    _pool.close()
