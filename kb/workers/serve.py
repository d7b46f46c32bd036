"""What a chunking worker does with an order: chunk texts, or convert a page."""

from __future__ import annotations

from kb import words
from kb.chunking import chunk_here
from kb.detect import Detected
from kb.html_markdown import to_markdown
from kb.workers.wire import decode_job, encode_documents


def do_order(header: bytes, data: bytes) -> bytes:
    """Return the documents that were chunked, or the page as Markdown."""
    job = decode_job(header)
    if not isinstance(job, tuple):
        return to_markdown(data.decode(), base_url=job).encode()
    documents = []
    at = 0
    for text in job:
        document = chunk_here(
            data[at : at + text.size],
            Detected(text.kind, text.language, "said"),
            base_byte=text.base_byte,
            base_line=text.base_line,
        )
        at += text.size
        documents.append(words.with_search_terms(document))
    chunks = (chunk for document in documents for chunk in document.chunks)
    return encode_documents(documents, words.vocabulary_of(chunks))
