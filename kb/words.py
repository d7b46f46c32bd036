"""How text becomes words, beyond what the index's tokenizer does: parts of identifiers, scripts
written without spaces, and the vocabulary that typing mistakes are corrected against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kb.chunk import Chunk, ChunkedDocument, SearchWords

# Only at the start of a run and never giving back, so that a long run is read but once.
_MIXED_CASE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[a-z0-9]++|[A-Z][a-z0-9]++)[A-Z]|[A-Z]{2,}+[a-z])[A-Za-z0-9]*+"
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""

_WORD = re.compile(r"[^\W\d_]{4,32}")
_ASCII_WORD = re.compile(r"[a-z]{4,32}")


def index_terms(text: str, identifiers: Iterable[str] = ()) -> str:
    """Extra words under which `text` is to be found: the parts of its mixed-case identifiers, and
    every pair of characters in scripts that the tokenizer cannot divide into words."""
    terms: dict[str, None] = {}
    for name in _MIXED_CASE.findall(text):
        terms.update(dict.fromkeys(_PART.findall(name)))
    if not text.isascii():
        terms.update(dict.fromkeys(pairs(text)))
    terms.update(dict.fromkeys(identifiers))
    return " ".join(terms)


def search_words(chunk: Chunk) -> SearchWords:
    """What `chunk` is found by besides its text."""
    return chunk.search_words or SearchWords(
        index_terms(chunk.text, chunk.identifiers), tuple(vocabulary(chunk.text))
    )


def with_search_words(document: ChunkedDocument) -> ChunkedDocument:
    """The document with the words of its chunks, each chunk's vocabulary without what an earlier
    one's has, for it is the document's that counts."""
    seen: set[str] = set()
    chunks = []
    for chunk in document.chunks:
        found = vocabulary(chunk.text) - seen
        seen |= found
        terms = index_terms(chunk.text, chunk.identifiers)
        chunks.append(replace(chunk, search_words=SearchWords(terms, tuple(found))))
    return replace(document, chunks=tuple(chunks))


def parts(identifier: str) -> list[str]:
    """`getHTTPResponse` as get, HTTP, Response; a word of one case as itself."""
    return _PART.findall(identifier) if _MIXED_CASE.fullmatch(identifier) else [identifier]


def pairs(text: str) -> Iterator[str]:
    """Each two neighbouring characters of every run in an unspaced script."""
    for run in _UNSPACED.findall(text):
        for at in range(len(run) - 1):
            yield run[at : at + 2]


def unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.fullmatch(text) is not None


def vocabulary(text: str) -> set[str]:
    """The distinct words of `text`, lower case, that are long enough to be misspelt."""
    lowered = text.lower()
    return set((_ASCII_WORD if lowered.isascii() else _WORD).findall(lowered))
