"""What tools print about failures: test reports by test, compiler output by diagnostic, dumps of
stacks by thread. A table of the lines that begin such a part, and what each is called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunks import Mark

_TEST = re.compile(
    rb"^(?:"
    rb"_{3,} (?P<pytest>[^\n]{1,200}?) _{3,}"
    rb"|={3,} (?P<section>[^\n=]{1,200}?) ={3,}"
    rb"|(?P<unittest>(?:FAIL|ERROR): [^\n]{1,200})"
    rb"|[ \t]{0,8}--- (?P<go>(?:FAIL|PASS|SKIP): [^\n]{1,200})"
    rb"|---- (?P<cargo>[^\n]{1,200}?) ----"
    rb"|(?P<tap>(?:not )?ok \d+[^\n]{0,200})"
    rb"|[ \t]{0,4}\xe2\x97\x8f (?P<jest>[^\n]{1,200})"
    rb"|[ \t]{0,4}\d+\) (?P<mocha>[^\n]{1,200})"
    rb"|(?P<junit><test(?:case|suite)\b[^\n>]{0,200})"
    rb")[ \t]*\r?$",
    re.MULTILINE,
)
_DIAGNOSTIC = re.compile(
    rb"^(?:"
    rb"(?P<unix>[^\s:][^:\n]{0,200}:\d+(?::\d+)?: ?(?:fatal )?(?:error|warning|note|info)\b"
    rb"[^\n]{0,200})"
    rb"|(?P<rust>(?:error|warning)(?:\[\w+\])?: [^\n]{1,200})"
    rb"|(?P<windows>[^\s(][^(\n]{0,200}\(\d+(?:,\d+)?\): ?(?:error|warning)[^\n]{0,200})"
    rb"|(?P<make>make(?:\[\d+\])?: \*\*\*[^\n]{0,200})"
    rb")",
    re.MULTILINE,
)
_THREAD = re.compile(
    rb"^(?:"
    rb"(?P<go>goroutine \d+ \[[^\n]{1,100}\]:)"
    rb"|(?P<java>\"[^\"\n]{1,100}\" (?:#\d+|prio|daemon|tid)[^\n]{0,100})"
    rb"|(?P<gdb>Thread \d+ \([^\n]{1,150}\):?)"
    rb"|(?P<python>(?:Current t|T)hread 0x[0-9a-f]+[^\n]{0,100})"
    rb"|(?P<traceback>Traceback \(most recent call last\):)"
    rb"|(?P<panic>(?:panic|thread '[^'\n]{1,60}' panicked)[^\n]{0,150})"
    rb"|(?P<error>[\w.$]{1,150}(?:Exception|Error)\b[^\n]{0,150})(?=\r?\n[ \t]+at )"
    rb")",
    re.MULTILINE,
)


def report_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a test that is told of, and one a section of the report."""
    return _marks(_TEST, data)


def compiler_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a diagnostic, with the source lines it quotes."""
    return _marks(_DIAGNOSTIC, data)


def stack_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a thread's stack, whole where it fits."""
    return _marks(_THREAD, data)


def _marks(beginnings: re.Pattern[bytes], data: bytes) -> Iterator[Mark]:
    for found in beginnings.finditer(data):
        title = found[found.lastgroup or 0].decode("utf-8", "replace").strip()
        yield Mark(found.start(), (title,), whole=True)
