"""Fields: how words fall apart into arguments; operators in `${}`, and braces."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from policy import marks
from policy.shell.state import ShellState
from policy.shell.syntax import Literal, Part

if TYPE_CHECKING:
    from policy.shell.walk import Walk

_GLOBS = {marks.GLOB_STAR: ".*", marks.GLOB_ONE: ".", marks.GLOB_SET: ".", marks.GLOB_ANY: ".*"}
_VALUE_MAX, _STARS_MAX = 1024, 3  # matching costs their product; beyond them the result is unknown


def apply(value: str, operator: str, operand: str) -> str:
    """Return the value after `#`, `%`, `/`, `^`, `,` or `:`; unknown if either side is. Operators
    that depend on whether the name is set are the expander's."""
    if operator == "":
        return value
    if (
        marks.has_hole(value)
        or marks.has_hole(operand)
        or len(value) > _VALUE_MAX
        or operand.count(marks.GLOB_STAR) > _STARS_MAX
    ):
        return marks.taint(value + operand) or (marks.PATHS if marks.PATHS in value else marks.LIST)
    transform = _TRANSFORMS.get(operator)
    return transform(value, operator, operand) if transform else marks.LIST


def _pattern(operand: str, *, greedy: bool) -> str:
    translated = "".join(_GLOBS.get(char) or re.escape(char) for char in operand)
    return translated if greedy else translated.replace(".*", ".*?")


def _strip_prefix(value: str, operator: str, operand: str) -> str:
    match = re.match(_pattern(operand, greedy=operator == "##"), value, re.DOTALL)
    return value[match.end() :] if match else value


def _strip_suffix(value: str, operator: str, operand: str) -> str:
    matcher = re.compile(_pattern(operand, greedy=True), re.DOTALL)
    starts = range(len(value) + 1) if operator == "%%" else range(len(value), -1, -1)
    start = next((start for start in starts if matcher.fullmatch(value, start)), None)
    return value if start is None else value[:start]


def _replace(value: str, operator: str, operand: str) -> str:
    pattern, _, replacement = operand.partition("/")
    anchor = pattern[:1] if operator == "/" and pattern[:1] in ("#", "%") else ""
    expression = _pattern(pattern[len(anchor) :], greedy=True)
    if not expression:
        return value
    expression = {"#": "^", "%": ""}.get(anchor, "") + expression + ("$" if anchor == "%" else "")
    count = 0 if operator == "//" else 1
    return re.sub(expression, lambda _: replacement, value, count=count, flags=re.DOTALL)


def _change_case(value: str, operator: str, operand: str) -> str:
    if operand:
        return marks.LIST
    change = str.upper if operator[0] == "^" else str.lower
    return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]


def _substring(value: str, operator: str, operand: str) -> str:
    match = re.fullmatch(r"\s*\(?\s*(-?\d+)\s*\)?\s*(?::\s*(-?\d+)\s*)?", operand)
    if match is None:
        return marks.LIST
    start = int(match[1])
    start = max(len(value) + start, 0) if start < 0 else start
    if match[2] is None:
        return value[start:]
    length = int(match[2])
    return value[start : start + length] if length >= 0 else value[start:length]


def _transform(value: str, operator: str, operand: str) -> str:
    change = _CHANGES.get(operand)
    return change(value) if change else marks.LIST


_CHANGES: dict[str, Callable[[str], str]] = {
    "U": str.upper, "L": str.lower, "Q": str, "u": lambda text: text[:1].upper() + text[1:],
}  # fmt: skip
_TRANSFORMS = {
    "#": _strip_prefix, "##": _strip_prefix, "%": _strip_suffix, "%%": _strip_suffix,
    "/": _replace, "//": _replace, ":": _substring, "@": _transform,
    **dict.fromkeys(("^", "^^", ",", ",,"), _change_case),
}  # fmt: skip


FIELD_BREAK = "\ue01e"  # between the elements of "$@" and "${array[@]}"
NOTHING = "\ue01f"  # "$@" without parameters: not even an empty field
_ELEMENTS = re.compile(f"[{FIELD_BREAK}{NOTHING}]")
_BRACKET = r"\[(?:[!^]?\]?[^\]/]*)\]"
FIXED, QUOTED, SPLIT = range(3)  # how a piece of a word takes part in field splitting
Piece = tuple[str, int]
Fields = tuple[str, ...]
IFS = " \t\n"


def mark_active(text: str) -> str:
    """Return unquoted text with its pattern characters marked as active."""
    if "*" not in text and "?" not in text and "[" not in text:
        return text
    text = "/".join(map(_mark_sets, text.split("/")))
    return text.replace("*", marks.GLOB_STAR).replace("?", marks.GLOB_ONE)


def _mark_sets(segment: str) -> str:
    """Return a segment with its `[…]` marked; none can begin after the last closing bracket."""
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
    """Split into fields: expansions outside quotes break at separators, quotes preserve fields."""
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
    """Apply an operator over `${array[@]}`: `:` takes a slice, any other applies to each element.
    `before` is the value at index 0 of `$@`, which is not one of its elements."""
    items = () if value == NOTHING else tuple(value.split(FIELD_BREAK))
    if operator != ":":
        changed = [apply(item, operator, operand) for item in items]
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


_BRACES = re.compile(r"([{},])")
_BRACE_SEQUENCE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")

Atom = Part | str  # an unquoted brace or comma is a plain string


def expand_braces(walk: Walk, parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Return all words the braces make; the word itself if it has none."""
    atoms: list[Atom] = []
    for part in parts:
        if type(part) is Literal and not part.quoted:
            for piece in _BRACES.split(part.text):
                if piece:
                    atoms.append(piece if piece in "{}," else Literal(piece, False))
        else:
            atoms.append(part)
    words = _expand_atoms(walk, atoms)
    return [tuple(Literal(a, False) if isinstance(a, str) else a for a in word) for word in words]


def _expand_atoms(walk: Walk, atoms: list[Atom]) -> list[list[Atom]]:
    walk.spend(len(atoms))
    for start, atom in enumerate(atoms):
        if atom != "{":
            continue
        walk.spend((len(atoms) - start) // 8)
        choices, end = _brace_choices(atoms, start)
        if choices is None:
            continue
        heads = [
            [*atoms[:start], *inner] for choice in choices for inner in _expand_atoms(walk, choice)
        ]
        tails = _expand_atoms(walk, atoms[end:])
        walk.spend(len(heads) * len(tails))
        return [head + tail for head in heads for tail in tails]
    return [atoms]


def _brace_choices(atoms: list[Atom], start: int) -> tuple[list[list[Atom]] | None, int]:
    """Return the alternatives of the brace that opens at `start`, and where it ends."""
    level, choices, current = 0, list[list[Atom]](), list[Atom]()
    for index in range(start + 1, len(atoms)):
        atom = atoms[index]
        if atom == "}" and level == 0:
            choices.append(current)
            if len(choices) == 1:
                return _read_sequence(choices[0]), index + 1
            return choices, index + 1
        if atom == "," and level == 0:
            choices.append(current)
            current = []
            continue
        level += (atom == "{") - (atom == "}")
        current.append(atom)
    return None, start


def _read_sequence(inner: list[Atom]) -> list[list[Atom]] | None:
    """Expand `{1..5}`, `{a..e..2}`; return None if the braces are plain text."""
    if len(inner) != 1 or not isinstance(inner[0], Literal):
        return None
    match = _BRACE_SEQUENCE.fullmatch(inner[0].text)
    if match is None or match[1].isalpha() != match[2].isalpha():
        return None
    letters = match[1].isalpha()
    first, last = (ord(match[1]), ord(match[2])) if letters else (int(match[1]), int(match[2]))
    step = abs(int(match[3] or 1)) or 1
    count = abs(last - first) // step + 1
    if count > 10_000:
        return None
    sign = 1 if last >= first else -1
    numbers = (first + sign * step * index for index in range(count))
    return [[Literal(chr(n) if letters else str(n), False)] for n in numbers]
