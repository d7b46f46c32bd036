"""That chunking is linear: twice the input is about twice the work, counted in steps, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from kb import CHUNKERS
from kb.chunking import chunk_here
from kb.detect import Detected

UNITS: dict[str, Callable[[int], bytes]] = {
    "headings": lambda n: b"# heading\n" * n,
    "setext": lambda n: b"heading\n=====\n" * n,
    "open fences": lambda n: b"```\n~~~\n" * n,
    "open comments": lambda n: b"<!-- \n" * n,
    "brackets": lambda n: b"[" * n + b"]" * n,
    "objects": lambda n: b'{"a":' * n,
    "closers": lambda n: b"]}" * n,
    "escapes": lambda n: b'"' + b'\\"' * n,
    "blank lines": lambda n: b"\n" * n,
    "one line": lambda n: b"word " * n,
    "tags": lambda n: b"<a>" * n,
    "quotes": lambda n: b'"a,\n' * n,
    "indents": lambda n: b"".join(b" " * (k % 60) + b"a:\n" for k in range(n)),
    "items": lambda n: b"- item\n" * n,
    "hunks": lambda n: b"@@ -1 +1 @@\n" * n,
    "traces": lambda n: b"Traceback (most recent call last):\n  File\n" * n,
    "carriage returns": lambda n: b"a\r" * n,
}
SMALL = 4000
LANGUAGES = {"code": "python"}


def steps(data: bytes, kind: str) -> int:
    """How many lines of this package's code run to chunk `data`."""
    count = 0

    def local(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += 1
        return local

    def entered(frame, event: str, argument: object) -> object:
        return local if "kb" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        chunk_here(data, Detected(kind, LANGUAGES.get(kind), "said"))
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", sorted(UNITS))
@pytest.mark.parametrize("kind", sorted(CHUNKERS))
def test_twice_the_input_is_about_twice_the_work(kind: str, shape: str) -> None:
    unit = UNITS[shape]
    fixed = steps(b"", kind)
    once = steps(unit(SMALL), kind) - fixed
    twice = steps(unit(2 * SMALL), kind) - fixed
    assert twice <= 2.2 * once + 200
