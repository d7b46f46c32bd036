"""What the operators of `${name op operand}` make of a known value."""

from __future__ import annotations

import re
from collections.abc import Callable

from policy import marks

_GLOBS = {marks.GLOB_STAR: ".*", marks.GLOB_ONE: ".", marks.GLOB_SET: ".", marks.GLOB_ANY: ".*"}
_VALUE_MAX, _STARS_MAX = 1024, 3  # matching costs their product; beyond them the result is unknown


def apply(value: str, operator: str, operand: str) -> str:
    """The value after `#`, `%`, `/`, `^`, `,` or `:`; unknown when either side is. Operators that
    depend on whether the name is set are the expander's."""
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
