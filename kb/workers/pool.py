"""The workers that chunk and convert for this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb.chunks import ChunkedDocument
from kb.html_markdown import bare_text
from kb.workers.processes import WORKERS, WorkerDiedError, WorkerPool
from kb.workers.wire import (
    ChunkOrder,
    ConvertOrder,
    Text,
    TextOrder,
    decode_documents,
    encode_job,
)

__all__ = ["WORKERS", "Text", "WorkerDiedError", "chunk_all", "processes", "restart", "to_markdown"]

_pool = WorkerPool(Path(__file__).with_name("__main__.py"))


def chunk_all(texts: Sequence[Text]) -> list[ChunkedDocument]:
    """Texts chunked in a worker, with the words of every chunk, in one exchange. The first
    document has the vocabulary of all.

    Raises:
        WorkerDiedError: one of them cannot be chunked so.
    """
    order = tuple(
        TextOrder(detected.kind, detected.language, len(data), base_byte, base_line)
        for data, detected, base_byte, base_line in texts
    )
    reply = _pool.exchange(encode_job(ChunkOrder(order)), b"".join(text.data for text in texts))
    try:
        return decode_documents(reply, texts)
    except (ValueError, TypeError, KeyError, IndexError) as error:
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
