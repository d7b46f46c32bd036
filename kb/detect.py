"""The kind of a source, and its language: said, else by media type, name, shebang, shape.

Never by guessing a lexer from the text, and never Markdown by default: what nothing identifies is
plain text. A shape is a table of what only one kind looks like, patterns for the start of a line. A
text is of a kind when it has enough of its signs, and the lines so told are enough of its lines.
Prose, programs and Markdown have too few of them, and stay text.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from kb import filetypes
from kb.decoding import Plain

HEAD_BYTES = 4096
"""How much of a text's beginning is looked at."""

_HEADER_LINES = 6
_ROWS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Sign:
    """A text is of `kind` with `least` lines like this that are a `share` of its lines."""

    kind: str
    pattern: bytes
    least: int = 1
    share: float = 0.0


_FIRST_LINES = (
    Sign(
        "commits",
        rb"(?:\* )?commit [0-9a-f]{40}\b[^\n]*\n(?:[|\\/ ]*(?:Merge|Author|tree|AuthorDate): )",
    ),
    Sign("diff", rb"diff --git a/|Index: [^\n]+\n={10}|--- [^\n]+\n\+\+\+ [^\n]+\n@@ -"),
    Sign("html", rb"<(?i:!doctype html|html)\b"),
    Sign("xml", rb"<\?xml\s"),
    Sign("trace", rb"(?:\d+ +|\[pid +\d+\] )?execve\(\""),
    Sign("columns", rb"Desired=Unknown/Install/"),
    Sign("columns", rb"total \d[\d.,]*[KMGT]?\n(?=[-dlbcps][-rwxsStT]{9})"),
    Sign("columns", rb"(?:USER|UID|PID|F +S?)\b[^\n]{1,200}\b(?:COMMAND|CMD)\n"),
    Sign("columns", rb"Filesystem +[^\n]{1,200}Mounted on\n"),
    Sign("columns", rb"Package +Version[^\n]{0,100}\n-{3,} "),
    Sign(
        "columns",
        rb"[A-Z][A-Z0-9%/_.:()-]{1,30}(?: [A-Z0-9]{1,20})?"
        rb"(?: {2,40}[A-Z][A-Z0-9%/_.:()-]{1,30}(?: [A-Z0-9]{1,20})?){2,20} *\n"
        rb"(?=[^\n]{0,200}\S {2})",
    ),
    Sign("plan", rb"(?:Terraform (?:used|will|has)|OpenTofu (?:used|will|has))\b"),
    Sign("stacks", rb"(?:Full thread dump|Exception in thread \"[^\"\n]{1,100}\" )"),
)
"""Each at the very beginning, or behind a few lines; the first that fits decides."""

_SIGNS = (
    # test runners
    Sign("tests", rb"={5,} (?:test session starts|FAILURES|ERRORS|short test summary info) ={5}"),
    Sign("tests", rb"={3,} RUN +Test"),
    Sign("tests", rb"[.FEsxX]{1,100} +\[ {0,2}\d{1,3}%\]$"),
    Sign("tests", rb"={70}\n(?:FAIL|ERROR): "),
    Sign("tests", rb"-{70}\nRan \d+ tests? in \d"),
    Sign("tests", rb"\w{1,150} \([\w.]{1,200}\) \.\.\. (?:ok|FAIL|ERROR|skipped)", 2, 0.4),
    Sign("tests", rb"=== RUN +\S|[ \t]*--- (?:PASS|FAIL|SKIP): \S+ \(\d"),
    Sign("tests", rb"(?:ok  |FAIL|\?   )\t\S+\t", 1, 0.3),
    Sign("tests", rb"running \d+ tests?$"),
    Sign("tests", rb"test \S{1,200} \.\.\. (?:ok|FAILED|ignored)", 2, 0.3),
    Sign("tests", rb"TAP version 1[34]$"),
    Sign("tests", rb"(?:not )?ok \d+(?: - |$)", 2, 0.2),
    Sign("tests", rb" {0,2}(?:PASS|FAIL) +\S{1,200}\.\w{1,6}(?: \(\d[^\n]*)?$"),
    Sign(
        "tests",
        rb" {0,40}(?:\xe2\x9c\x93|\xe2\x9c\x94|\xe2\x9c\x95|\xe2\x9c\x96|\xe2\x88\x9a) \S",
        3,
        0.5,
    ),
    Sign("tests", rb" {0,4}\d+ passing \(\d"),
    # compilers, checkers and builds
    Sign(
        "compiler",
        rb"[^\s:#>*][^:\n]{0,200}:\d+(?::\d+)?: ?(?:fatal )?(?:error|warning|note)\b"
        rb"|[^\s(#>*][^(\n]{0,200}\(\d+(?:,\d+)?\): ?(?:error|warning)\b"
        rb"|(?:error|warning)(?:\[\w+\])?: [^\n]+\n +--> "
        rb"|[A-Z]{1,5}\d{2,5} [^\n]{1,200}\n *--> \S+:\d+:\d+"
        rb"|[^\s:#>*]{1,200}:\d+:\d+: [A-Z]{1,4}\d{2,5} "
        rb"|[^\s:#>*]{1,200}\.\w{1,5}:\d+:\d+ - (?:error|warning)\b"
        rb"|\[(?:ERROR|WARNING)\] [^\n]{1,200}:\[\d+,\d+\] ",
        2,
    ),
    Sign("compiler", rb" {1,8}\d+:\d+ +(?:error|warning) {2,}\S", 2, 0.2),
    Sign("compiler", rb" {2,12}(?:Compiling|Checking|Downloaded|Fresh) [\w-]{1,80} v\d", 1, 0.02),
    Sign("compiler", rb"> Task :|\[INFO\] -{20,}", 2),
    Sign("compiler", rb"make(?:\[\d+\])?: (?:\*\*\* |Entering directory )"),
    # stacks
    Sign(
        "stacks", rb"goroutine \d+ \[|Thread \d+ \(|thread '[^'\n]{1,60}' (?:\(\d+\) )?panicked at "
    ),
    Sign(
        "stacks",
        rb"(?:Uncaught )?[\w.$]{0,150}(?:Error|Exception)\b[^\n]{0,150}\n(?: {4,}|\t)at \S",
        1,
        0.02,
    ),
    # packages
    Sign("packages", rb"npm (?:ERR!|error|WARN|warn|notice) ", 1, 0.2),
    Sign("packages", rb"(?:added|removed|changed) \d+ packages?\b|up to date, audited \d", 1, 0.05),
    Sign("packages", rb"# npm audit report$"),
    Sign("packages", rb"Reading package lists\.\.\."),
    Sign(
        "packages", rb"(?:Get|Hit|Ign):\d+ (?:http|file|mirror)|(?:Setting up|Unpacking) \S+ \(", 2
    ),
    Sign(
        "packages",
        rb"(?:Requirement already satisfied:|Collecting|Installing collected packages:) [\w.]",
        2,
        0.15,
    ),
    Sign("packages", rb"(?:Looking in indexes: \S+:|Requirement already satisfied: \S+ in )"),
    # traces, plans
    Sign("trace", rb"(?:\[pid +\d+\] |\d+ +)?\w{2,30}\([^\n]{0,400}\) += (?:-?\d|0x|\?)", 3, 0.5),
    Sign("plan", rb"Plan: \d+ to add, \d+ to change"),
    # logs
    Sign("log", rb"\[ *\d{1,9}\.\d{6}\] ", 2, 0.5),
    # commits, one a line
    Sign(
        "commits",
        rb"(?:[*|/\\][*|/\\ ]{0,20})?[0-9a-f]{7,12} (?:\([^)\n]{1,100}\) )?[^\s=][^\n]*$",
        3,
        0.8,
    ),
    Sign("columns", rb"[-dlbcps][-rwxsStT]{9}[.+@]? +\d+ \S+ +\S+ +\d", 3, 0.8),
)
"""Anywhere in the lines looked at; the kind with the first that fits decides."""

_AT_FIRST = [(sign.kind, re.compile(sign.pattern)) for sign in _FIRST_LINES]
_ANY = re.compile(
    rb"^(?:" + b"|".join(rb"(?P<s%d>%b)" % (at, s.pattern) for at, s in enumerate(_SIGNS)) + rb")",
    re.MULTILINE,
)
_PROSE = re.compile(
    rb"^(?:#{1,6} (?!Subtest)[A-Z]|```|~~~|\.\. |\* |- |> |/[*/]|#!|#include|import |from |use "
    rb"|package |def |class |function |const |\.TH |<\w)",
    re.MULTILINE,
)
"""How lines of Markdown and of programs begin, which quote what tools print."""
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
    """The kind and language of what only one kind looks like, or None. The beginning suffices."""
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
        if found[at] >= sign.least and found[at] >= sign.share * lines:
            return sign.kind
    return None


def _by_columns(text: bytes, *, whole: bool) -> str | None:
    """Whether lines are rows of as many values each, under names: `csv` or `tsv`."""
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
    """Whether values begin with a space, as what stands behind a comma does."""
    return any(value[:1] == " " for value in row)


_Look = Callable[[], tuple[str, str | None] | None]

_SHEBANG = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?")


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
    looks: tuple[tuple[str, _Look], ...] = (  # at the text itself last: that takes longest
        ("media type", lambda: filetypes.by_media_type(media_type) if media_type else None),
        ("name", lambda: filetypes.by_name(name) if name else None),
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
