"""What a chunking worker does with an order: chunk a source, or convert a page."""

from __future__ import annotations

from kb import words
from kb.chunking import chunk_here
from kb.detect import Detected
from kb.html_markdown import to_markdown
from kb.workers.wire import ConvertOrder, decode_job, encode_document


def answer(header: bytes, data: bytes) -> bytes:
    """Return the document that was chunked, or the page as Markdown."""
    job = decode_job(header)
    if isinstance(job, ConvertOrder):
        return to_markdown(data.decode(), base_url=job.base_url).encode()
    document = chunk_here(
        data,
        Detected(job.kind, job.language, "said"),
        base_byte=job.base_byte,
        base_line=job.base_line,
    )
    return encode_document(words.with_search_words(document))
