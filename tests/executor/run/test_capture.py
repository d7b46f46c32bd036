"""Capture keeps head and tail on line and character boundaries and counts the rest exactly."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.secrets import redact
from executor.model import Stream
from executor.run.capture import Capture, cut_head, cut_tail, decode
from tests.base.secret_corpus import key_block
from tests.base.spellings import TOKEN


def captured(folder: Path, chunks: list[bytes], inline_bytes: int) -> tuple[Stream, Path | None]:
    capture = Capture(folder / "spool", inline_bytes)
    for chunk in chunks:
        capture.feed(chunk)
    capture.close()
    return capture.stream(), capture.spool


@pytest.mark.parametrize(
    ("content", "budget", "kept"),
    [
        (b"one\ntwo\nthree", 9, b"one\ntwo\n"),
        (b"one\ntwo\n", 8, b"one\ntwo\n"),
        (b"one\ntwo\n", 7, b"one\n"),
        (b"no line feed", 4, b"no l"),
        ("ab€cd".encode(), 2, b"ab"),
        ("ab€cd".encode(), 3, b"ab"),
        ("ab€cd".encode(), 4, b"ab"),
        ("ab€cd".encode(), 5, "ab€".encode()),
        (b"\x80\x80\x80", 2, b""),
        (b"", 5, b""),
    ],
)
def test_a_head_ends_with_a_line_or_else_with_a_character(content, budget, kept):
    assert cut_head(content, budget) == kept


@pytest.mark.parametrize(
    ("content", "budget", "kept"),
    [
        (b"one\ntwo\nthree", 9, b"two\nthree"),
        (b"one\ntwo\nthree", 8, b"three"),
        (b"one\ntwo\n", 4, b"two\n"),
        (b"one\ntwo\n", 3, b"wo\n"),
        (b"no line feed", 4, b"feed"),
        ("ab€cd".encode(), 5, "€cd".encode()),
        ("ab€cd".encode(), 4, b"cd"),
        ("ab€cd".encode(), 3, b"cd"),
        (b"short", 9, b"short"),
    ],
)
def test_a_tail_starts_with_a_line_or_else_with_a_character(content, budget, kept):
    assert cut_tail(content, budget) == kept


@pytest.mark.parametrize(
    ("content", "text", "binary"),
    [
        (b"plain", "plain", False),
        ("ünï".encode(), "ünï", False),
        (b"a\0b", "a\0b", True),
        (b"a\xffb", "a�b", True),
        (b"\xe2\x82", "�", True),
    ],
)
def test_what_is_not_text_is_replaced_and_reported(content, text, binary):
    assert decode(content) == (text, binary)


def test_a_small_stream_is_whole_and_makes_no_file(tmp_path: Path):
    stream, spool = captured(tmp_path, [b"one\n", b"two"], 7)
    assert (stream, spool) == (Stream(head="one\ntwo", bytes_total=7, lines_total=1), None)
    assert list(tmp_path.iterdir()) == []


def test_a_large_stream_has_head_tail_and_exact_counts(tmp_path: Path):
    stream, spool = captured(tmp_path, [b"%d\n" % n for n in range(10)], 10)
    assert stream == Stream(
        head="0\n1\n2\n",
        tail="8\n9\n",
        bytes_total=20,
        lines_total=10,
        bytes_omitted=10,
        lines_omitted=5,
    )
    assert stream.text == "0\n1\n2\n[… 10 bytes, 5 lines left out …]\n8\n9\n"
    assert spool is not None
    assert spool.read_bytes() == b"".join(b"%d\n" % n for n in range(10))
    assert stat.S_IMODE(spool.stat().st_mode) == 0o600


def test_a_spool_never_replaces_a_file_that_is_there(tmp_path: Path):
    (tmp_path / "spool").write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        captured(tmp_path, [b"123456"], 3)
    assert (tmp_path / "spool").read_bytes() == b"precious"


def test_memory_stays_bounded_whatever_comes(tmp_path: Path):
    capture = Capture(tmp_path / "spool", 100)
    for _ in range(1000):
        capture.feed(b"x" * 1000)
    assert len(capture._kept) + len(capture._tail) <= 100 + 4 * 100 + 1000
    capture.close()


texts = st.lists(st.text(st.sampled_from("ab\n€🦀ü"), max_size=30), max_size=30)


@given(texts, st.integers(2, 120))
def test_head_gap_and_tail_always_add_up(parts: list[str], inline_bytes: int):
    whole = "".join(parts).encode()
    # Cut anywhere, also inside characters: a pipe does not know them.
    chunks = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    with tempfile.TemporaryDirectory() as folder:
        stream, spool = captured(Path(folder), chunks, inline_bytes)
        assert (spool is None) == (len(whole) <= inline_bytes)
        assert spool is None or spool.read_bytes() == whole
    head, tail = stream.head.encode(), stream.tail.encode()
    assert whole.startswith(head)
    assert whole.endswith(tail)
    gap = whole[len(head) : len(whole) - len(tail)]
    assert (stream.bytes_omitted, stream.lines_omitted) == (len(gap), gap.count(b"\n"))
    assert (stream.bytes_total, stream.lines_total) == (len(whole), whole.count(b"\n"))
    assert (stream.binary, stream.truncated) == (False, len(whole) > inline_bytes)
    if stream.truncated:
        assert len(head) + len(tail) <= inline_bytes


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 60))
def test_any_bytes_are_counted_and_spooled_exactly(chunks: list[bytes], inline_bytes: int):
    whole = b"".join(chunks)
    with tempfile.TemporaryDirectory() as folder:
        stream, spool = captured(Path(folder), chunks, inline_bytes)
        assert spool is None or spool.read_bytes() == whole
    assert stream.bytes_total == len(whole)
    assert 0 <= stream.bytes_omitted <= len(whole)
    stream.text.encode()


def test_what_is_discarded_is_counted_and_its_end_is_shown(tmp_path: Path):
    capture = Capture(tmp_path / "spool", 100)
    capture.feed(b"first line\n" * 20)
    spooled = (tmp_path / "spool").stat().st_size
    capture.discarding = True
    for _ in range(50):
        capture.feed(b"middle\n" * 1000)
    capture.feed(b"the end\n")
    stream = capture.stream()
    capture.close()
    assert stream.bytes_total == 220 + 50 * 7000 + 8
    assert stream.lines_total == 20 + 50_000 + 1
    assert stream.head.startswith("first line\n")
    assert stream.tail.endswith("the end\n")
    assert (tmp_path / "spool").stat().st_size in (spooled, 220)


@pytest.mark.parametrize(
    "secret",
    [TOKEN, TOKEN.replace("_", "\\u005f"), f"\x1b[1m{TOKEN[:9]}\x1b[m{TOKEN[9:]}"],
    ids=["plain", "escaped", "coloured"],
)
@pytest.mark.parametrize("at", range(540, 660, 7))
def test_no_cut_divides_a_secret(secret, at, tmp_path: Path):
    """Half of one is found by nobody, and gives half of it away. The control: the whole is kept."""
    line = "x " * (at // 2) + f"token={secret}, end"
    for content in (line + " y" * 4000, "y " * 4000 + line[::-1].replace(secret[::-1], secret)):
        stream, spool = captured(Path(tempfile.mkdtemp(dir=tmp_path)), [content.encode()], 1000)
        assert spool is not None
        shown = redact(stream.head)[0] + redact(stream.tail)[0]
        assert secret in content
        assert not any(secret[first : first + 8] in shown for first in range(4, len(secret) - 8))


def test_no_cut_divides_a_private_key(tmp_path: Path):
    block = key_block("RSA PRIVATE KEY", lines=12)
    for lines in range(40):
        content = "y\n" * 3000 + block + "\n" + "z\n" * (20 * lines)
        stream, _ = captured(Path(tempfile.mkdtemp(dir=tmp_path)), [content.encode()], 2000)
        assert not any(line in redact(stream.tail)[0] for line in block.split("\n")[1:-1])
