"""String literals: their text, with escapes resolved and interpolated expressions folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from policy import marks
from policy.host.tree import Role, text_of
from policy.shell.syntax import unescape

if TYPE_CHECKING:
    from tree_sitter import Node

    from policy.host.fold import Folder

ALTERNATIVES_MAX = 32
Joined = TypeVar("Joined", str, tuple[str, ...])


def string_texts(folder: Folder, node: Node, role: Role) -> list[str]:
    """Every text a literal may have."""
    roles = folder.tree.roles
    named = [child for child in node.children if child.id in roles]
    if not named:
        return [_unquote(text_of(node))]
    pieces: list[list[str]] = []
    end = named[0].start_byte
    if roles[named[0].id].name == "text" and named[0].prev_sibling is not None:
        end = named[0].prev_sibling.end_byte  # some grammars leave out leading blanks
    for child in named:
        if roles[child.id].name != "string":
            pieces.append([_blanks_between(node, end, child.start_byte)])
        pieces.append(_piece(folder, child))
        end = child.end_byte
    return combine(pieces)


def combine(pieces: Sequence[list[str]]) -> list[str]:
    """Every text that one alternative of each piece makes."""
    return _combine(pieces, "", marks.WORD)


def product(items: Sequence[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Every list that one alternative of each piece makes."""
    return _combine(items, (), (marks.WORD,))


def _combine(pieces: Sequence[list[Joined]], empty: Joined, unknown: Joined) -> list[Joined]:
    found = [empty]
    for options in pieces:
        is_many = len(found) * len(options) > ALTERNATIVES_MAX
        found = [head + option for head in found for option in ([unknown] if is_many else options)]
    return found


def _blanks_between(node: Node, start: int, end: int) -> str:
    """Blanks inside a string that the grammar gives to none of its parts."""
    if start == end:
        return ""
    offset = node.start_byte
    gap = (node.text or b"")[start - offset : end - offset].decode("utf-8", "replace")
    return gap if gap.isspace() else ""


def _piece(folder: Folder, node: Node) -> list[str]:
    role = folder.tree.roles[node.id]
    if role.name == "escape":
        return [unescape(_plain_escapes(text_of(node)))]
    if role.name == "text":
        return _text_pieces(folder, node)
    if role.name == "interpolation":
        return folder.texts(role.part("value"))
    if role.name in ("string", "identifier", "member", "index", "call", "wrap"):
        return folder.texts(node)
    return [""]


def _text_pieces(folder: Folder, node: Node) -> list[str]:
    """Literal text with escapes and interpolations between."""
    data, start = node.text or b"", node.start_byte
    pieces: list[list[str]] = []
    position = 0
    for child in node.children:
        if not folder.tree.role(child).name:
            continue
        pieces.append([data[position : child.start_byte - start].decode("utf-8", "replace")])
        pieces.append(_piece(folder, child))
        position = child.end_byte - start
    pieces.append([data[position:].decode("utf-8", "replace")])
    return combine(pieces)


def _plain_escapes(text: str) -> str:
    r"""`\u{1F600}` and `\x{41}` as bash writes them."""
    return "\\U" + text[3:-1] if text[1:3] in ("u{", "x{") else text


def _unquote(text: str) -> str:
    """A string literal that the grammar gives as one token, without its quotes."""
    for quote in ('"""', "'''", '"', "'", "`"):
        first = text.find(quote)
        if 0 <= first <= 4 and text.endswith(quote) and len(text) >= first + 2 * len(quote):
            inner = text[first + len(quote) : -len(quote)]
            return inner.strip("()") if text[:1] in "rR" else inner
    return text.lstrip(":")
