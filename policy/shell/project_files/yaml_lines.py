"""YAML as project files are written in: blocks, block texts, lists and tables in brackets.

Tags, anchors and aliases are passed over; every value is a text.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEPTH_MAX = 64
FLOW_LINES_MAX = 64  # lines that a list or a table in brackets goes on for
_KEY = re.compile(
    r"""(?:"([^"]*+)"|'([^']*+)'|([^"'\[{#&*!|>@`\s](?>[^:]*(?::(?!\s|$)[^:]*)*)))\s*+:(?=\s|$)"""
)
_TAG = re.compile(r"\s*(?:[&!]\S*\s*)*")
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*+)"|'((?:[^']|'')*+)')""")
_FLOW = re.compile(
    r"""("(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[\]{},]|\s+)|'((?:[^']|'')*+)(?:'|\Z)|(:)(?=\s)|"""
    r"""((?>(?:[^\[\]{},:\s"']++|:(?!\s)|[ \t]+(?![\[\]{},:\s]))+))"""
)
Lines = list[tuple[int, str]]  # indentation and text, the next one last


def read_yaml(text: str) -> Any:  # noqa: ANN401 - YAML is anything
    """The value of a text. Raises ValueError where it is nested too deep."""
    rows = [line.expandtabs() for line in text.splitlines()]
    return _block([(len(row) - len(row.lstrip()), row.strip()) for row in rows][::-1], 0, 0)


def _next(lines: Lines) -> int:
    """The indentation of the next line that says something; -1 at the end."""
    while lines and (not lines[-1][1] or lines[-1][1][0] in "#%" or lines[-1][1] == "---"):
        lines.pop()
    return lines[-1][0] if lines else -1


def _block(lines: Lines, least: int, depth: int) -> Any:  # noqa: ANN401
    """The list, the table or the text that begins at the next line."""
    indent = _next(lines)
    if depth > DEPTH_MAX:
        raise ValueError("nested too deep")
    items: list[Any] = []
    found: dict[str, Any] = {}
    while indent >= least and _next(lines) == indent:
        line = lines.pop()[1]
        if line[:2] in ("-", "- "):
            rest = line[1:].lstrip()
            lines.append((indent + len(line) - len(rest), rest))
            items.append(_block(lines, indent + 1, depth + 1))
        elif key := _KEY.match(line):
            name = key[1] or key[2] or (key[3] or "").rstrip()
            found[name] = _value(line[key.end() :], lines, indent, depth)
        else:
            return items or found or _value(line, lines, indent - 1, depth)
    return items or found or ""


def _value(text: str, lines: Lines, indent: int, depth: int) -> Any:  # noqa: ANN401
    """What stands behind a key, or goes on in the lines below it."""
    text = text[_TAG.match(text).end() :]  # type: ignore[union-attr]
    if text[:1] in ("|", ">"):
        return _below(lines, indent, "\n" if text[0] == "|" else " ")
    if not text or text[0] == "#":
        is_list = _next(lines) == indent >= 0 and lines[-1][1][0] == "-"
        return _block(lines, indent if is_list else indent + 1, depth + 1)
    if text[0] not in "[{":
        return _scalar(f"{text} {_below(lines, indent, ' ')}")
    for _ in range(FLOW_LINES_MAX):
        if lines and sum(map(text.count, "[{")) > sum(map(text.count, "]}")):
            text = f"{text} {lines.pop()[1]}"
    try:
        return json.loads(re.sub(r",\s*(?=[\]}])", "", _FLOW.sub(_as_json, text)))
    except ValueError:
        return ""


def _as_json(piece: re.Match[str]) -> str:
    return piece[1] or piece[3] or json.dumps(piece[4] or (piece[2] or "").replace("''", "'"))


def _below(lines: Lines, indent: int, between: str) -> str:
    """The lines that are indented deeper, as one text."""
    taken: list[tuple[int, str]] = []
    while lines and (lines[-1][0] > indent or not lines[-1][1]):
        taken.append(lines.pop())
    first = next((depth for depth, line in taken if line), 0)
    return between.join(" " * max(0, depth - first) + line for depth, line in taken).strip()


def _scalar(text: str) -> str:
    quoted = _QUOTED.match(text)
    if quoted and quoted[1] is not None:
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), quoted[1])
    return quoted[2].replace("''", "'") if quoted else re.split(r"(?:^|\s)#", text)[0].strip()
