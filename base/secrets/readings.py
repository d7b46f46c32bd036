"""Readings of a text: as it is shown, and with its escapes decoded, each with the way back.

Text that splits a secret or hides its beginning is removed: control sequences, invisible
characters, and escapes of JSON, URLs, HTML, shells and mail. A reading is made by replacing, in
time that grows linearly with the text; original positions are computed only for findings.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Replacement = bytes | Callable[[re.Match[bytes]], bytes]
    Step = tuple[tuple[bytes, ...], "Expression", Replacement]
    Map = tuple[list[int], list[tuple[int, int]]]

DEPTH_MAX = 3
"""The depth to which nested encodings are decoded; doubled backslashes go at once."""
SHORT_BYTES = 4096
"""A text up to this size is searched faster than its words are gathered."""
BLOCK_BYTES = 256 * 1024
_OVERLAP_BYTES = 64
"""Longer than any word that is looked for."""

_WORDS = bytes(byte if chr(byte).isalpha() or byte == 0x5F else 0x20 for byte in range(0x80))
_WORDS += b" " * 0x80
"""The letters of words themselves, and a blank for all else: some texts are mostly numbers."""


class Expression:
    """An expression that is compiled at its first use: compiling all of them takes longer than
    reading most texts, and a hook has no time for it."""

    def __init__(self, text: bytes, flags: int = 0) -> None:
        self._arguments = text, flags

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        return re.compile(*self._arguments)

    @cached_property
    def match(self) -> Callable[..., re.Match[bytes] | None]:
        return self.compiled.match

    @cached_property
    def search(self) -> Callable[..., re.Match[bytes] | None]:
        return self.compiled.search


def _unescape(match: re.Match[bytes]) -> bytes:
    """Return the meaning of a backslash: a character, a byte, or the sign after it."""
    written, form = match[match.lastindex or 0], match.lastgroup
    if form == "sign":
        return _LETTERS.get(written, written)
    number = int(written, 8 if form == "octal" else 16)
    if form == "character":
        return chr(min(number, 0x10FFFF)).encode("utf-8", "surrogatepass")
    return bytes([number & 0xFF])


def _resolve(match: re.Match[bytes]) -> bytes:
    from html import unescape  # noqa: PLC0415 - its table takes milliseconds

    return unescape(match[0].decode()).encode("utf-8", "surrogatepass")


# Each step: one of its marks is in the text, then the expression and the replacement. An expression
# begins with a plain byte, which is searched for fast, and none tries a run of bytes again from its
# middle. Bold and underlined are as printers and `man` write them.
_OVERSTRUCK = Expression(rb"\x08(?<=([!-~])\x08)(?:\1|_)")
_SEQUENCE = rb"[0-?]{0,64}[ -/]{0,8}[@-~]"
# Invisible characters: control sequences and strings (ECMA-48, ISO 2022, DEC), other controls, and
# Unicode's Default_Ignorable_Code_Point, C1, and separators of lines.
_UNSHOWN: tuple[Step, ...] = (
    (
        (b"\x1b",),
        Expression(
            rb"\x1b(?:\[" + _SEQUENCE + rb"|[\]PX^_][^\x07\x1b\n]*+(?:\x07|\x1b\\)"
            rb"|[()*+][0B]|[78=>\\])"
        ),
        b"",
    ),
    ((b"\xc2\x9b",), Expression(rb"\xc2\x9b" + _SEQUENCE), b""),
    ((b"_\x08",), Expression(rb"_\x08(?=[!-~])"), b""),
    ((b"\x08",), _OVERSTRUCK, b""),
    (
        tuple(bytes([byte]) for byte in (*range(0x09), *range(0x0E, 0x20), 0x7F)),
        Expression(rb"[\0-\x08\x0e-\x1f\x7f]++"),
        b"",
    ),
    (
        (b"\xc2", b"\xcd", b"\xd8", b"\xe1", b"\xe2", b"\xe3", b"\xef", b"\xf3"),
        Expression(
            rb"\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c"
            rb"|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
            rb"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4"
            rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])"
            rb"|\xf3\xa0[\x80-\x87][\x80-\xbf]"
        ),
        b"",
    ),
)
# Control strings, such as the addresses of links, are read as separate lines, too.
_STRINGS: tuple[Step, ...] = (
    (
        tuple(b"\x1b" + bytes([sign]) for sign in b"]PX^_"),
        Expression(rb"\x1b[\]PX^_\\]|\x07"),
        b"\n",
    ),
)
# One backslash; the rest of a run after it is skipped: JSON in JSON doubles them.
_RUN = rb"\\(?<!\\\\)\\*+"
_LETTERS = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"f": b"\f", b"t": b"\t", b"v": b"\v"}
# Quoted-printable (RFC 2045): its sign, and its breaks in long lines.
_MAIL: tuple[Step, ...] = (
    ((b"=3D",), Expression(rb"=3D"), b"="),
    ((b"=\n", b"=\r\n"), Expression(rb"=(?<=[^\r\n]{70}=)\r?\n"), b""),
)
_ESCAPES: tuple[Step, ...] = (
    ((b"\\n", b"\\r"), Expression(_RUN + rb"[nr]"), b"\n"),
    # One backslash stays before a quote: the quoted text continues after it.
    ((b'\\\\"', b"\\\\'"), Expression(rb"\\(?<!\\\\)\\++[\"']"), lambda match: match[0][-2:]),
    (
        (b"\\",),
        Expression(
            _RUN + rb"(?:u\{?(?P<character>(?<=\{)[0-9A-Fa-f]{1,6}(?=\})|[0-9A-Fa-f]{4})\}?"
            rb"|x(?P<byte>[0-9A-Fa-f]{2})|(?P<octal>[0-7]{3})|(?P<sign>[abefntrv!#-&(-/:-@\[\]^_{-~]))"
        ),
        _unescape,
    ),
    ((b"%",), Expression(rb"%([0-9A-Fa-f]{2})"), lambda match: bytes([int(match[1], 16)])),
    (
        (b"&",),
        Expression(rb"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)"),
        _resolve,
    ),
)
# Lines without escapes, except the last before one with some: they were read before.
_CLEAN = rb"[^\n\\%&]*+(?:\\[\"'][^\n\\%&]*+)*\n"  # possessive groups: broken before 3.11.5
_READ: tuple[Step, ...] = (
    ((b"\n",), Expression(rb"\n(?:" + _CLEAN + rb"(?=" + _CLEAN + rb"))+"), b"\n\xff\n"),
)


class Reading:
    """One way to read a text, as `data`. `has_gaps` is true if something was taken out."""

    def __init__(
        self, data: bytes, maps: Iterable[Callable[[], Map]] = (), *, has_gaps: bool = False
    ) -> None:
        """Set up; each of the `maps` leads one replacement back, in their order."""
        self.data = data
        self.lowered = data.lower()
        self.has_gaps = has_gaps
        self._maps = tuple(maps)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Return each word once, and parts of long ones. In most texts they are a hundredth, so
        that looking among them first is many times faster."""
        words: set[bytes] = set()
        for start in range(0, len(self.data), BLOCK_BYTES):
            block = self.data[max(start - _OVERLAP_BYTES, 0) : start + BLOCK_BYTES]
            words.update(block.translate(_WORDS).split())
        return frozenset(words)

    @cached_property
    def vocabulary(self) -> bytes:
        """Return the words between blanks."""
        return b" ".join((b"", *self.words, b""))

    @cached_property
    def _lowered_vocabulary(self) -> bytes:
        return self.vocabulary.lower()

    def find_all(self, marks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
        """Yield each place of each mark, which is in lower case, in any case."""
        for mark in self.select(marks):
            at = self.lowered.find(mark)
            while at >= 0:
                yield mark, at
                at = self.lowered.find(mark, at + len(mark))

    def select(self, marks: Iterable[bytes]) -> Iterable[bytes]:
        """Return the marks without those that have a word missing from the text."""
        if len(self.data) <= SHORT_BYTES:
            return marks
        words = self._lowered_vocabulary
        return [mark for mark in marks if all(word in words for word in _words_of(mark))]

    def apply(self, steps: Iterable[Step]) -> Reading:
        """Return the reading after some more replacements; itself if none of them applies."""
        data, maps, has_gaps = self.data, [*self._maps], self.has_gaps
        for marks, expression, replacement in steps:
            if any(map(data.__contains__, marks)):
                after = expression.compiled.sub(replacement, data)
                if after != data:
                    maps.append(functools.partial(_map, expression, replacement, data))
                    data, has_gaps = after, has_gaps or not replacement
        return Reading(data, maps, has_gaps=has_gaps) if len(maps) > len(self._maps) else self

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the text of a range here, with all that was replaced within."""
        for starts, places in self._ways_back:
            start, end = _locate(starts, places, start)[0], _locate(starts, places, end - 1)[1]
        return start, end

    def has_gap(self, at: int) -> bool:
        """Return whether something was taken out before this place."""
        return self.locate(at - 1, at)[1] < self.locate(at, at + 1)[0]

    @cached_property
    def _ways_back(self) -> list[Map]:
        return [find() for find in reversed(self._maps)]


def split_words(text: bytes) -> list[bytes]:
    """Return the words of a text: their letters and `_`."""
    return text.translate(_WORDS).split()


_words_of = functools.cache(split_words)


def list_readings(data: bytes) -> Iterator[Reading]:
    """Yield the readings of a text: as shown, its control strings, and both decoded."""
    whole = Reading(data)
    shown = whole.apply(_UNSHOWN)
    strings = whole.apply(_STRINGS)
    firsts = shown, shown if strings is whole else strings, shown.apply(_MAIL)
    for reading in dict.fromkeys(firsts):
        yield reading
        for _ in range(DEPTH_MAX):
            near = reading.apply(_READ)
            further = near.apply((*_ESCAPES, *_STRINGS, *_UNSHOWN))
            if further is near:
                break
            reading = further  # noqa: PLW2901
            yield reading


def _map(expression: Expression, replacement: Replacement, before: bytes) -> Map:
    """Return where each piece begins after a replacement, and the place of each before it: of one
    that was replaced both its ends, of one that stayed its beginning twice."""
    starts: list[int] = []
    places: list[tuple[int, int]] = []
    out = at = 0
    for match in expression.compiled.finditer(before):
        start, end = match.span()
        size = len(replacement if isinstance(replacement, bytes) else replacement(match))
        if expression is _OVERSTRUCK:  # the text before it was printed twice or more
            start, size = start - 1, 1
            if start < at:
                places[-1], at = (places[-1][0], end), end
                continue
        if start > at:
            starts.append(out)
            places.append((at, at))
            out += start - at
        if size:
            starts.append(out)
            places.append((start, end))
            out += size
        at = end
    return [*starts, out], [*places, (at, at)]


def _locate(starts: list[int], places: list[tuple[int, int]], at: int) -> tuple[int, int]:
    """Return where a character came from."""
    piece = bisect_right(starts, at) - 1
    start, end = places[piece]
    start += (at - starts[piece]) * (start == end)
    return start, max(end, start + 1)
