"""Fields: how the pieces of an expanded word fall apart into arguments."""

from __future__ import annotations

import functools
import re

from policy import marks
from policy.shell import parameters
from policy.shell.state import ShellState

FIELD_BREAK = "\ue01e"  # between the elements of "$@" and "${array[@]}"
NOTHING = "\ue01f"  # what "$@" is without parameters: not even an empty field
_ELEMENTS = re.compile(f"[{FIELD_BREAK}{NOTHING}]")
_BRACKET = r"\[(?:[!^]?\]?[^\]/]*)\]"
FIXED, QUOTED, SPLIT = range(3)  # how a piece of a word takes part in field splitting
Piece = tuple[str, int]
Fields = tuple[str, ...]
IFS = " \t\n"


def mark_active(text: str) -> str:
    """Unquoted text with its pattern characters marked as active."""
    if "*" not in text and "?" not in text and "[" not in text:
        return text
    text = "/".join(map(_mark_sets, text.split("/")))
    return text.replace("*", marks.GLOB_STAR).replace("?", marks.GLOB_ONE)


def _mark_sets(segment: str) -> str:
    """A segment with its `[…]` marked; none can begin behind the last bracket that closes."""
    end = segment.rfind("]") + 1
    return re.sub(_BRACKET, _bracket, segment[:end]) + segment[end:] if end else segment


def _bracket(match: re.Match[str]) -> str:
    members = match.group()[1:-1]
    return members if len(members) == 1 else marks.GLOB_SET


def field_separators(state: ShellState) -> str:
    variable = state.variables.get("IFS")
    if variable is None or len(variable.values) != 1 or not marks.is_known(variable.values[0]):
        return IFS
    return variable.values[0]


@functools.lru_cache(maxsize=64)
def _breaks(separators: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(separators)}{FIELD_BREAK}]")


def split(pieces: tuple[Piece, ...], separators: str) -> Fields:
    """Field splitting: expansions outside quotes break at separators, quotes keep fields alive."""
    if len(pieces) == 1 and pieces[0][1] == QUOTED and not _ELEMENTS.search(pieces[0][0]):
        return (pieces[0][0],)  # as nearly all words are
    fields: list[str] = []
    current: str | None = None
    for piece, mode in pieces:
        text = mark_active(piece) if mode == SPLIT else piece
        if text == NOTHING:
            current = current or None
            continue
        if mode == SPLIT:
            chunks = _breaks(separators).split(text) if separators else [text]
            if len(chunks) == 1:
                current = (current or "") + text if text else current
                continue
            for index, chunk in enumerate(chunks):
                if index and current is not None:
                    fields.append(current)
                    current = None
                if chunk:
                    current = (current or "") + chunk
            continue
        if FIELD_BREAK in text:
            first, *rest = text.split(FIELD_BREAK)
            fields.append((current or "") + first)
            fields.extend(rest[:-1])
            current = rest[-1]
        elif mode == QUOTED or text:
            current = (current or "") + text
    if current is not None:
        fields.append(current)
    return tuple(fields)


def join(pieces: tuple[Piece, ...]) -> str:
    join = "".join([text for text, _ in pieces])
    return join.replace(FIELD_BREAK, " ").replace(NOTHING, "")


def each_element(value: str, operator: str, operand: str, before: tuple[str, ...]) -> str:
    """An operator over `${array[@]}`: `:` takes a slice, any other applies to each element.
    `before` is what stands at index 0 of `$@`, which has no place in its elements."""
    items = () if value == NOTHING else tuple(value.split(FIELD_BREAK))
    if operator != ":":
        changed = [parameters.apply(item, operator, operand) for item in items]
        return FIELD_BREAK.join(changed) or NOTHING
    bounds = re.fullmatch(r"\s*(-?\d+)\s*(?::\s*(\d+)\s*)?", operand)
    if bounds is None or any(map(marks.splits, items)):
        return marks.LIST
    everything = before + items
    start = int(bounds[1])
    start = max(start + len(everything), 0) if start < 0 else start
    end = start + int(bounds[2]) if bounds[2] else len(everything)
    return FIELD_BREAK.join(everything[start:end]) or NOTHING


def elements(items: tuple[str, ...], joined_by: str, *, quoted: bool) -> str:
    if not items and joined_by == "@":
        return NOTHING
    return (FIELD_BREAK if joined_by == "@" or not quoted else " ").join(items)
