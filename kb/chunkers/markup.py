"""Markdown, reStructuredText, AsciiDoc and HTML by headings; a block stays whole where it fits.

Line scanners rather than full parsers: only block structure at the top level matters here, and
parsing inline markup would slow the indexing of large trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from kb.packing import Mark

_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1{2,}[ \t]*\r?\n?$")
_CODE = re.compile(rb"([ \t]*)\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*([\w+#.-]*)")
_ROLE = re.compile(r":[\w:.-]+:`([^`<]*)(?: <[^>]*>)?`|[`*]+")


def rst_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield marks. Heading levels follow the order in which adornment styles first appear."""
    styles: list[bytes] = []
    path: list[str] = []
    position, before, before_start = 0, b"", 0
    overline: tuple[int, bytes] | None = None
    while position < len(data):
        start = position
        position = data.find(b"\n", start) + 1 or len(data)
        line = data[start:position]
        if _ADORNMENT.match(line):
            if before.strip() and (overline or not before[:1].isspace()):
                style = line[:1] + (b"^" if overline else b"")
                at = overline[0] if overline else before_start
                yield _section(at, style, before, styles, path)
                overline, before = None, b""
                continue
            overline = (start, line[:1])
        elif code := _CODE.match(line):
            position = _block_end(data, position, len(code.group(1)))
            yield Mark(start, tuple(path), whole=True, language=code.group(2).decode() or None)
            yield Mark(position, tuple(path))
            line, overline = b"", None
        elif overline and not line.strip():
            overline = None
        before, before_start = line, start


def _section(at: int, style: bytes, title: bytes, styles: list[bytes], path: list[str]) -> Mark:
    if style not in styles:
        styles.append(style)
    del path[styles.index(style) :]
    text = title[:1000].decode("utf-8", "replace").strip()
    path.append(_ROLE.sub(lambda role: role.group(1) or "", text))
    return Mark(at, tuple(path))


def _block_end(data: bytes, position: int, indent: int) -> int:
    """Return the end of the lines from `position` that are blank or indented more than `indent`."""
    end = position
    while position < len(data):
        line_end = data.find(b"\n", position) + 1 or len(data)
        line = data[position : min(line_end, position + indent + 64)]
        if line.strip():
            if len(line) - len(line.lstrip(b" \t")) <= indent:
                break
            end = line_end
        position = line_end
    return end


_HEADING = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S[^\n]*?)[ \t]*(?:\1)?\r?\n?$")
_DELIMITER = re.compile(
    rb"(?:(?:-{4,}|\.{4,}|/{4,}|\+{4,}|={4,}|\*{4,}|_{4,})|\|===|```\w*)\r?\n?$"
)
_SOURCE = re.compile(rb"\[source,[ \t]*(?:language=)?[\"']?([\w+#.-]+)")


def asciidoc_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each heading and delimited block, with the language of a listing."""
    path: list[tuple[int, str]] = []
    position, tag = 0, None
    while position < len(data):
        start = position
        position = data.find(b"\n", start) + 1 or len(data)
        line = data[start:position]
        title = tuple(name for _, name in path)
        if heading := _HEADING.match(line):
            level = len(heading.group(1))
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, heading.group(2).decode("utf-8", "replace")))
            yield Mark(start, tuple(name for _, name in path))
        elif _DELIMITER.match(line):
            position = _find_end(data, position, line.strip()[:200])
            yield Mark(start, title, whole=True, language=tag)
            yield Mark(position, title)
        source = _SOURCE.match(line)
        tag = source.group(1).decode().lower() if source else None


def _find_end(data: bytes, position: int, delimiter: bytes) -> int:
    """Find the end of the block that `delimiter` opened; only its line if it never closes."""
    bare = b"```" if delimiter.startswith(b"```") else delimiter
    closing = re.compile(rb"^" + re.escape(bare) + rb"[ \t]*\r?$", re.MULTILINE)
    found = closing.search(data, position, position + 65_536)
    if found is None:
        return position
    return min(found.end() + 1, len(data))


_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|svg|template)\b.*?(?:</\1\s*>|\Z)"
    rb"|<h([1-6])\b[^<>]{0,1000}>(.{0,600}?)</h\2\s*>"
    rb"|<(?P<block>pre|table|article|section|p|li|tr|dt)\b",
    re.DOTALL | re.IGNORECASE,
)
_TAGS = re.compile(r"<[^<>]*>")


def html_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each heading, and for blocks, so that cuts fall between them."""
    path: list[tuple[int, str]] = []
    for found in _TAG.finditer(data):
        if found.group(2):
            level = int(found.group(2))
            while path and path[-1][0] >= level:
                path.pop()
            text = unescape(_TAGS.sub("", found.group(3).decode("utf-8", "replace")))
            path.append((level, " ".join(text.split()).rstrip("¶# ")))
            yield Mark(found.start(), tuple(name for _, name in path))
        elif block := found.group("block"):
            whole = block.lower() in (b"pre", b"table")
            yield Mark(found.start(), tuple(name for _, name in path), whole=whole)


# A line scanner rather than a full parser: only block structure at the top level matters here, and
# parsing inline markup would slow the indexing of large trees.

_LINE = re.compile(rb"[^\n]*\n?")
_ATX = re.compile(rb" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?\n?$")
_SETEXT = re.compile(rb" {0,3}(=+|-+)[ \t]*\r?\n?$")
_FENCE = re.compile(rb"[ \t>]*(?:[-*+] +|\d{1,9}[.)] +)?(`{3,}|~{3,})[ \t]*([^\r\n`]*)")
_TABLE_ROW = re.compile(rb" {0,3}\|")
_NOT_PARAGRAPH = re.compile(rb" {0,3}(?:>|[-*+](?:[ \t]|\r?\n|$)|\d{1,9}[.)](?:[ \t]|\r?\n|$))")
_HTML_OPEN = re.compile(rb" {0,3}<(?:(!--)|(pre|script|style|textarea)(?=[\s>]))", re.IGNORECASE)
_HTML_CLOSE = re.compile(rb"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*]+|<[^>]{1,200}>")
INDENTS = (b"    ", b"\t")
_FRONT_MATTER_END = re.compile(rb"^(?:---|\.\.\.|\+\+\+)[ \t]*\r?$", re.MULTILINE)


_Line = tuple[int, bytes]
"""A line's start and its text."""


def markdown_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each section, fence and table; the latter two stay whole if they fit."""
    scanner = _Scanner(data)
    yield from scanner.front_matter()
    for line in scanner.lines():
        if scanner.fence(line):
            yield from scanner.read_fence(line)
        elif scanner.html(line):
            scanner.skip_html(line)
        elif heading := scanner.heading(line):
            yield heading
        else:
            yield from scanner.body(line)


class _Scanner:
    """The state between lines: the open headings, the paragraph a setext underline would end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._path: list[tuple[int, str]] = []
        self._paragraph: int | None = None  # where it starts
        self._in_table = False
        self._after_list = False
        self._position = 0
        self._lines = self._iterate()

    def lines(self) -> Iterator[_Line]:
        return self._lines

    def _iterate(self) -> Iterator[_Line]:
        data = self._data
        size = len(data)
        while self._position < size:
            start = self._position
            end = data.find(b"\n", start) + 1 or size
            self._position = end
            yield start, data[start:end]

    @property
    def _title(self) -> tuple[str, ...]:
        return tuple(name for _, name in self._path)

    def front_matter(self) -> Iterator[Mark]:
        """Yield YAML (---) or TOML (+++) between two rules at the very top of the file."""
        opening = self._data[:64].partition(b"\n")[0].rstrip()
        if opening not in (b"---", b"+++"):
            return
        first = self._data.find(b"\n") + 1
        for closing in _FRONT_MATTER_END.finditer(self._data, first, first + 65_536):
            if (closing.group().strip() == b"+++") == (opening == b"+++"):
                yield Mark(0, ("front matter",), whole=True)
                self._position = min(closing.end() + 1, len(self._data))
                yield Mark(self._position)
                return

    def fence(self, line: _Line) -> re.Match[bytes] | None:
        _, text = line
        if b"```" not in text and b"~~~" not in text:
            return None
        if text.startswith(INDENTS) and self._paragraph is None and not self._after_list:
            return None
        return _FENCE.match(text)

    def read_fence(self, line: _Line) -> Iterator[Mark]:
        """Read a fence as one section; to the end of the file if it is never closed."""
        start, text = line
        opening = _FENCE.match(text)
        assert opening is not None
        run, info = opening.group(1), opening.group(2).decode("utf-8", "replace").strip()
        tag = info.strip("{}. ").split(" ")[0].split(",")[0].lower() or None
        yield Mark(start, self._title, whole=True, language=tag)
        closing = re.compile(rb"[ \t>]*" + re.escape(run) + run[:1] + rb"*[ \t]*\r?\n?$")
        for _, inner in self._lines:
            if closing.match(inner):
                break
        self._paragraph = None
        self._in_table = False
        yield Mark(self._position, self._title)

    def html(self, line: _Line) -> bool:
        _, text = line
        return text.lstrip(b" ").startswith(b"<") and bool(_HTML_OPEN.match(text))

    def skip_html(self, line: _Line) -> None:
        """Skip a comment or a raw-text element, whose lines are not Markdown."""
        start, text = line
        opening = _HTML_OPEN.match(text)
        assert opening is not None
        self._paragraph = None
        if opening.group(1):
            end = self._data.find(b"-->", start + opening.end())
        else:
            found = _HTML_CLOSE.search(self._data, start + opening.end())
            end = found.start() if found else -1
        if end < 0:
            self._position = len(self._data)
        elif end >= self._position:
            self._position = self._data.find(b"\n", end) + 1 or len(self._data)

    def heading(self, line: _Line) -> Mark | None:
        start, text = line
        stripped = text.lstrip(b" ")
        if stripped.startswith(b"#"):
            found = _ATX.match(text)
            if found:
                return self._section(start, len(found.group(1)), found.group(2) or b"")
        elif self._paragraph is not None and stripped[:1] in (b"=", b"-"):
            underline = _SETEXT.match(text)
            if underline:
                level = 1 if underline.group(1).startswith(b"=") else 2
                words = self._data[self._paragraph : min(start, self._paragraph + 2000)]
                return self._section(self._paragraph, level, words)
        return None

    def _section(self, start: int, level: int, words: bytes) -> Mark:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        text = _INLINE.sub(r"\1", words[:2000].decode("utf-8", "replace"))
        self._path.append((level, " ".join(text.split())))
        self._paragraph = None
        self._in_table = self._after_list = False
        return Mark(start, self._title)

    def body(self, line: _Line) -> Iterator[Mark]:
        """Read a line: note the paragraph it may begin, and keep a table's rows together."""
        start, text = line
        table = _TABLE_ROW.match(text) is not None
        if table != self._in_table:
            self._in_table = table
            yield Mark(start, self._title, whole=table)
        if table or not text.strip():
            self._paragraph = None
        elif _NOT_PARAGRAPH.match(text):
            self._paragraph = None
            self._after_list = True
        elif self._paragraph is None and not (
            text.startswith(INDENTS) or self._list_goes_on(start)
        ):
            self._paragraph = start
            self._after_list = False

    def _list_goes_on(self, start: int) -> bool:
        """Return whether a line continues a list item and so cannot be a title."""
        if not self._after_list or start < 2:
            return False
        return not self._data.endswith((b"\n\n", b"\n\r\n"), 0, start)
