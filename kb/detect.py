"""Detection of a source's kind and language: given, else by media type, name, shebang, shape.

Never by guessing a lexer from the text, and never Markdown by default: unidentified text is plain
text. A shape is recognised by the signs of `detect.toml`, patterns for the start of a line. A text
is of a kind if it has enough of its signs, on a large enough share of its lines. Prose, programs
and Markdown have too few of them, and stay text.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb import filetypes
from kb.decoding import Plain

HEAD_BYTES = 4096
"""The size of the beginning of a text that is looked at."""

_HEADER_LINES = 6
_ROWS_LOOKED_AT = 20


_TABLES: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_AT_FIRST = [(row["kind"], re.compile(row["pattern"].encode())) for row in _TABLES["first_lines"]]
"""Each at the very beginning, or after a few lines; the first that fits decides."""

_SIGNS = _TABLES["signs"]
"""Anywhere in the lines looked at; the kind with the first that fits decides."""

_NUMBERED = (f"(?P<s{at}>{sign['pattern']})" for at, sign in enumerate(_SIGNS))
_ANY = re.compile(f"^(?:{'|'.join(_NUMBERED)})".encode(), re.MULTILINE)
_PROSE = re.compile(
    rb"^(?:#{1,6} (?!Subtest)[A-Z]|```|~~~|\.\. |\* |- |> |/[*/]|#!|#include|import |from |use "
    rb"|package |def |class |function |const |\.TH |<\w)",
    re.MULTILINE,
)
"""Beginnings of lines of Markdown and of programs, which quote what tools print."""
_PROSE_SHARE = 0.1
_TIMESTAMP = re.compile(
    rb"^(?:\x1b\[[\d;]*m)?\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d"
    rb"|(?:\w{3} )?\w{3} +\d{1,2} \d\d:\d\d:\d\d"
    rb"|\d\d:\d\d:\d\d[.,]\d)",
    re.MULTILINE,
)
_TRACEBACK = b"Traceback (most recent call last):"
_JSON = re.compile(
    rb"\s*(?:\{\s*(?:\"|\})|\[\s*(?:[\[{\"\]]|-?\d[\d.eE+-]*\s*(?:,\s*[-\d\"\[{]|\]\s*\Z)"
    rb"|(?:true|false|null)\s*[,\]]))"
)
_JSON_LINES = re.compile(rb"\s*\{[^\n]*\}[ \t]*\r?\n\{")
_COLUMN = re.compile(r"[A-Za-z_][\w .()/%#-]{0,40}$")


def by_shape(data: bytes) -> tuple[str, str | None] | None:
    """Return the kind and language if only one kind looks so, or None. The beginning suffices."""
    head = data[:HEAD_BYTES]
    if _JSON.match(head):
        kind = "jsonl" if _JSON_LINES.match(head) else "json"
        return kind, kind
    text = Plain(head.removeprefix(b"\xef\xbb\xbf")).text
    beginning = text.lstrip()
    for kind, pattern in _AT_FIRST:
        if pattern.match(beginning):
            return kind, kind if kind in ("html", "xml") else None
    lines = sum(1 for line in text.split(b"\n") if line.strip()) or 1
    signed = _by_signs(text, lines)
    if signed is not None:
        return signed, None
    if len(_TIMESTAMP.findall(head)) * 2 > lines > 1 or text.startswith(_TRACEBACK):
        return "log", None
    if language := _by_columns(text, whole=len(data) == len(head)):
        return "csv", language
    return None


def _by_signs(text: bytes, lines: int) -> str | None:
    found = Counter(int((match.lastgroup or "s0")[1:]) for match in _ANY.finditer(text))
    if not found or len(_PROSE.findall(text)) > lines * _PROSE_SHARE:
        return None
    for at in sorted(found):
        sign = _SIGNS[at]
        if found[at] >= max(sign.get("least", 1), sign.get("share", 0.0) * lines):
            return str(sign["kind"])
    return None


def _by_columns(text: bytes, *, whole: bool) -> str | None:
    """Return `csv` or `tsv` if all lines are rows of equally many values, under names."""
    lines = text.decode("utf-8", "replace").split("\n")
    lines = [line for line in (lines if whole else lines[:-1]) if line][:_ROWS_LOOKED_AT]
    if len(lines) < 3:
        return None
    for language, separator in (("csv", ","), ("tsv", "\t"), ("csv", ";")):
        names = lines[0].split(separator)
        if len(names) < 2 or len(set(names)) < len(names):
            continue
        if not all(_COLUMN.match(name.strip('"')) for name in names):
            continue
        try:
            rows = list(csv.reader(lines[1:], delimiter=separator))
        except csv.Error:
            return None
        if all(len(row) == len(names) and not _is_sentence(row) for row in rows):
            return language
    return None


def _is_sentence(row: list[str]) -> bool:
    """Return whether values begin with a space, as text after a comma does."""
    return any(value[:1] == " " for value in row)


_Look = Callable[[], tuple[str, str | None] | None]

_SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?")


@dataclass(frozen=True, slots=True)
class Detected:
    """A kind (a key of `kb.CHUNKERS`), the language if it has one, and what decided it."""

    kind: str
    language: str | None
    by: str


def detect(
    data: bytes,
    *,
    name: str | None = None,
    media_type: str | None = None,
    kind: str | None = None,
    language: str | None = None,
) -> Detected:
    """Detect what `data` is. `data` may be only its beginning; 4 KiB suffice."""
    if language is not None:
        language = filetypes.canonical_language(language)
    if kind is not None:
        return Detected(kind, language, "said")
    if language is not None:
        return Detected(filetypes.kind_of_language(language), language, "said")
    looks: tuple[tuple[str, _Look], ...] = (  # at the text itself last: that takes longest
        ("media type", lambda: filetypes.by_media_type(media_type) if media_type else None),
        ("name", lambda: filetypes.detect_by_name(name) if name else None),
        ("shebang", lambda: _by_shebang(data)),
        ("shape", lambda: by_shape(data)),
    )
    for by, look in looks:
        if (found := look()) is not None:
            return Detected(*found, by)
    return Detected("text", None, "nothing else fits")


def _by_shebang(data: bytes) -> tuple[str, str | None] | None:
    found = _SHEBANG.match(data[:256])
    if found is None:
        return None
    program = found.group(1).rsplit(b"/", 1)[-1]
    if program == b"env" and found.group(2):
        program = found.group(2)
    return filetypes.by_interpreter(program.decode("utf-8", "replace"))
