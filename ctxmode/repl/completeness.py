"""Where a program that is typed ends: by its language's grammar, as far as that tells."""

from __future__ import annotations

import codeop
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from runtimes import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_QUOTES = frozenset("\"'`")
_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}") | {"end", "fi", "done", "esac"}
# A grammar of templates reads programs only behind a tag, and the last semicolon may be left out.
_TAGS = {"php": "<?php "}


def is_complete(text: str, row: Language) -> bool:
    """Tell whether a program is ready to run; a wrong one is, for its language to say so. It is not
    while a bracket, a quote or a block is open, nor where each program starts anew. An empty line
    ends it in any case."""
    if not text.rsplit("\n", maxsplit=1)[-1].strip():
        return True
    if row.conversation is None:
        return False
    if own_rules := _OWN_RULES.get(row.grammar):
        return own_rules(text)
    parser = _parser(row.grammar)
    return parser is None or not _is_open(_TAGS.get(row.grammar, "") + text, parser, row.grammar)


def _is_complete_python(text: str) -> bool:
    """Apply the rules of Python's own console: a block goes on until an empty line."""
    last = text.rsplit("\n", maxsplit=1)[-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if codeop.compile_command(text, symbol="exec") is None:
                return False
    except (SyntaxError, ValueError, OverflowError):
        return True
    return not last[:1].isspace() or "\n" not in text


_OWN_RULES: Final[Mapping[str, Callable[[str], bool]]] = {"python": _is_complete_python}


def _parser(grammar: str) -> Parser | None:
    from tree_sitter import Parser  # noqa: PLC0415 - loaded when something is typed
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    try:
        return Parser(get_language(grammar))  # type: ignore[arg-type]  # a name of the table's
    except LookupError:
        return None


def _is_open(text: str, parser: Parser, grammar: str) -> bool:
    source = text.encode()
    root = parser.parse(source).root_node
    if not root.has_error:
        return False
    if grammar in _TAGS and not parser.parse(source + b";").root_node.has_error:
        return False
    end = len(source.rstrip())
    troubles = list(_find_troubles(root))
    return not troubles or any(_opens(trouble, end) for trouble in troubles)


def _find_troubles(node: Node) -> Iterator[Node]:
    """Yield the nodes that say where the text does not fit the grammar."""
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from _find_troubles(child)


def _opens(trouble: Node, end: int) -> bool:
    """Tell whether something is still to come, rather than too much or wrong."""
    leaves = [leaf.type for leaf in _find_leaves(trouble)]
    if not _QUOTES.isdisjoint(leaves):
        return True  # what follows a quote that is not closed is taken for something else
    if trouble.end_byte < end or trouble.is_missing:
        return trouble.end_byte >= end
    return leaves[-1] not in _CLOSERS or not _OPENERS.isdisjoint(leaves)


def _find_leaves(node: Node) -> Iterator[Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _find_leaves(child)
