"""Which kind a source is, and in what language: said, else by media type, name, shebang, shape.

Never by guessing a lexer from the text, and never Markdown by default: what nothing identifies is
plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb import filetypes

_SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?")
_HEAD = 4096
_TRACEBACK = b"Traceback (most recent call last):"
_TIMESTAMP = re.compile(
    rb"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\w{3} +\d{1,2} \d\d:\d\d:\d\d"
    rb"|\d\d:\d\d:\d\d[.,]\d)",
    re.MULTILINE,
)
_JSON = re.compile(
    rb"\s*(?:\{\s*(?:\"|\})|\[\s*(?:[\[{\"\]]|-?\d[\d.eE+-]*\s*(?:,\s*[-\d\"\[{]|\]\s*\Z)"
    rb"|(?:true|false|null)\s*[,\]]))"
)
_JSON_LINES = re.compile(rb"\s*\{[^\n]*\}[ \t]*\r?\n\{")
_SHAPES = (
    ("diff", re.compile(rb"diff --git a/|Index: [^\n]+\n={10}|--- [^\n]+\n\+\+\+ [^\n]+\n@@ -")),
    ("diff", re.compile(rb"commit [0-9a-f]{40}\b[^\n]*\n(?:[^\n]*\n){1,80}?diff --git a/")),
    ("html", re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)),
    ("xml", re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\s")),
    (
        "tests",
        re.compile(
            rb"(?:[^\n]*\n){0,12}?(?:={5,} test session starts|={5,} FAILURES ={5}"
            rb"|={3,} RUN +Test|running \d+ tests?\n|TAP version \d|1\.\.\d+\n"
            rb"|={70}\n(?:FAIL|ERROR): )"
        ),
    ),
    ("stacks", re.compile(rb"(?:[^\n]*\n){0,6}?(?:goroutine \d+ \[|Full thread dump|Thread 1 \()")),
)
_DIAGNOSTIC = re.compile(
    rb"^(?:[^\s:][^:\n]{0,200}:\d+(?::\d+)?: ?(?:fatal )?(?:error|warning|note)\b"
    rb"|(?:error|warning)(?:\[\w+\])?: [^\n]+\n +--> "
    rb"|[^\s(][^(\n]{0,200}\(\d+(?:,\d+)?\): ?(?:error|warning))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Detected:
    """A kind (a key of `kb.CHUNKERS`), the language where it has one, and what decided it."""

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
    """What `data` is. `data` may be its beginning only; 4 KiB of it suffice."""
    if language is not None:
        language = filetypes.canonical_language(language)
    if kind is not None:
        return Detected(kind, language, "said")
    if language is not None:
        return Detected(filetypes.kind_of_language(language), language, "said")
    for by, found in (
        ("media type", filetypes.by_media_type(media_type) if media_type else None),
        ("name", filetypes.by_name(name) if name else None),
        ("shebang", _by_shebang(data)),
        ("shape", _by_shape(data[:_HEAD])),
    ):
        if found is not None:
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


def _by_shape(head: bytes) -> tuple[str, str | None] | None:
    """What only one kind looks like. Markdown and code look like too much else to be told so."""
    if _JSON.match(head):
        kind = "jsonl" if _JSON_LINES.match(head) else "json"
        return kind, kind
    for kind, shape in _SHAPES:
        if shape.match(head):
            return kind, kind if kind in ("html", "xml") else None
    lines = head.count(b"\n") or 1
    if len(_TIMESTAMP.findall(head)) * 2 > lines > 1 or head.startswith(_TRACEBACK):
        return "log", None
    if len(_DIAGNOSTIC.findall(head)) >= 2:
        return "compiler", None
    return None
