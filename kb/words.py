"""How text becomes words, beyond what the index's tokenizer does: parts of identifiers, scripts
written without spaces, and the vocabulary that typing mistakes are corrected against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Runs first, then a look into each: one pattern for both would try every start of a long run anew.
_RUN = re.compile(r"[A-Za-z0-9]+")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|^[A-Z]{2,}[a-z]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""

_WORD = re.compile(r"[^\W\d_]{4,32}")


def index_terms(text: str, identifiers: Iterable[str] = ()) -> str:
    """Extra words under which `text` is to be found: the parts of its mixed-case identifiers, and
    every pair of characters in scripts that the tokenizer cannot divide into words."""
    terms: dict[str, None] = {}
    for run in _RUN.findall(text):
        if _INNER_CAPITAL.search(run):
            terms.update(dict.fromkeys(_PART.findall(run)))
    if not text.isascii():
        terms.update(dict.fromkeys(pairs(text)))
    terms.update(dict.fromkeys(identifiers))
    return " ".join(terms)


def parts(identifier: str) -> list[str]:
    """`getHTTPResponse` as get, HTTP, Response; a word of one case as itself."""
    mixed = _RUN.fullmatch(identifier) and _INNER_CAPITAL.search(identifier)
    return _PART.findall(identifier) if mixed else [identifier]


def pairs(text: str) -> Iterator[str]:
    """Each two neighbouring characters of every run in an unspaced script."""
    for run in _UNSPACED.findall(text):
        for at in range(len(run) - 1):
            yield run[at : at + 2]


def unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.fullmatch(text) is not None


def vocabulary(text: str) -> set[str]:
    """The distinct words of `text`, lower case, that are long enough to be misspelt."""
    return set(_WORD.findall(text.lower()))
