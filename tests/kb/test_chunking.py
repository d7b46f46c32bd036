"""What holds for the chunks of every kind, whatever the source looks like."""

from __future__ import annotations

import sysconfig
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kb.chunking
import kb.packing
from kb import CHUNKERS
from kb.chunkers import Chunker
from kb.packing import CAP_BYTES

ADVERSARIAL = {
    "empty": b"",
    "one byte": b"x",
    "one line feed": b"\n",
    "only line feeds": b"\n" * 50_000,
    "one long line": b"x" * 300_000,
    "one long line of words": b"word " * 60_000,
    "one long line of four-byte characters": "\U0001f600".encode() * 40_000,
    "all headings": b"# heading\n" * 10_000,
    "all setext": b"heading\n=======\n" * 10_000,
    "open fence": b"```python\n" + b"x = 1\n" * 20_000,
    "many open fences": b"```\n~~~\n" * 10_000,
    "open comment": b"<!-- \n" * 10_000,
    "nested brackets": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 50_000,
    "unbalanced closers": b"]}" * 50_000,
    "open string": b'{"a": "' + b'\\"' * 100_000,
    "nested parentheses": b"(" * 100_000,
    "NUL bytes": b"a\0b\n" * 20_000,
    "invalid UTF-8": bytes(range(256)) * 500,
    "continuation bytes": b"\x80" * 100_000,
    "lone carriage returns": b"line\r" * 50_000,
    "CRLF": b"# a\r\n\r\ntext\r\n" * 10_000,
    "deep indentation": b"".join(b" " * n + b"a:\n" for n in range(500)),
    "deep quotes": b">" * 100_000,
    "open tags": b"<a>" * 50_000,
    "table": b"| a | b |\n" * 20_000,
    "list": b"- item\n" * 20_000,
}
LANGUAGES = {"code": "python"}


def check_chunks(data: bytes, document: kb.packing.ChunkedDocument) -> None:
    """Chunks tile the source exactly, in order, under the cap, with lines that agree."""
    position, line = 0, 1
    for chunk in document.chunks:
        assert chunk.start_byte == position
        assert chunk.start_byte < chunk.end_byte
        assert chunk.end_byte - chunk.start_byte <= CAP_BYTES
        source = data[chunk.start_byte : chunk.end_byte]
        assert chunk.text == source.decode("utf-8", "replace")
        assert (chunk.raw or chunk.text.encode()) == source
        assert chunk.start_line == line
        assert chunk.end_line == line + source[:-1].count(b"\n")
        line += source.count(b"\n")
        position = chunk.end_byte
    assert position == len(data)


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
@pytest.mark.parametrize("shape", sorted(ADVERSARIAL))
def test_chunks_tile_any_source_under_the_cap(kind: str, shape: str) -> None:
    data = ADVERSARIAL[shape]
    check_chunks(data, kb.chunking.chunk(data, kind=kind, language=LANGUAGES.get(kind)))


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
@pytest.mark.parametrize("unit", [b"x", b"word "], ids=["word", "words"])
def test_ten_megabytes_on_one_line_are_chunked_like_any(kind: str, unit: bytes) -> None:
    data = unit * (10_000_000 // len(unit))
    document = kb.chunking.chunk(data, kind=kind, language=LANGUAGES.get(kind))
    ends = [chunk.end_byte for chunk in document]
    assert ends[-1] == len(data)
    assert max(end - start for start, end in pairwise([0, *ends])) <= CAP_BYTES


EXAMPLES = settings.default.max_examples // 4  # of each kind; with --long there are more


@cache
def real_files() -> list[Path]:
    """Some files of this interpreter; looking for them takes long."""
    patterns = ("*.py", "*/*.py", "**/*.txt", "**/*.rst", "**/*.cfg", "**/*.json", "**/*.html")
    library = Path(sysconfig.get_path("stdlib"))
    return [path for pattern in patterns for path in sorted(library.glob(pattern))[:4]]


@pytest.mark.parametrize("kind", ["its own", *sorted(CHUNKERS)])
def test_chunks_tile_real_files_taken_for_any_kind(kind: str) -> None:
    for path in real_files():
        data = path.read_bytes()
        if kind == "its own":
            check_chunks(data, kb.chunking.chunk(data, name=path.name))
        else:
            check_chunks(data, kb.chunking.chunk(data, kind=kind, language=LANGUAGES.get(kind)))


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
@settings(max_examples=EXAMPLES)
@given(data=st.binary(max_size=6000))
def test_chunks_tile_arbitrary_bytes(kind: str, data: bytes) -> None:
    check_chunks(data, kb.chunking.chunk(data, kind=kind, language=LANGUAGES.get(kind)))


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
@settings(max_examples=EXAMPLES)
@given(
    text=st.lists(
        st.sampled_from(
            [
                "# head\n", "text\n", "===\n", "---\n", "```py\n", "~~~\n", "| a |\n", "- x\n",
                '{"k": ', "[", "]", "}", ",", '"s"', "\n", "    indented\n", "def f():\n",
                "class C:\n", "    x = 1\n", "Traceback (most recent call last):\n", "\tat a.b\n",
                "ü", "日本", "\U0001f600", "<!--", "-->", "word " * 300, "a" * 1600 + "\n",
                "key: value\n", "  - item\n", "[table]\n", "<tag>\n", "</tag>\n", "a,b,c\n",
                "+++ b/file\n", "@@ -1,2 +1,2 @@\n", "2024-01-01 10:00:00 INFO x\n",
            ]
        ),
        max_size=60,
    )
)  # fmt: skip
def test_chunks_tile_any_mix_of_constructs(kind: str, text: list[str]) -> None:
    data = "".join(text).encode()
    check_chunks(data, kb.chunking.chunk(data, kind=kind, language=LANGUAGES.get(kind)))


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown kind 'poem': choose from asciidoc"):
        kb.chunking.chunk(b"x", kind="poem")


def test_a_failing_chunker_still_keeps_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(data: bytes, language: str | None) -> list[object]:
        raise RuntimeError("no")

    monkeypatch.setitem(CHUNKERS, "markdown", Chunker("markdown", failing))
    data = b"text\n" * 1000
    document = kb.chunking.chunk(data, kind="markdown")
    check_chunks(data, document)
    assert document.notes == ("markdown: RuntimeError: no; the rest is cut as text",)
