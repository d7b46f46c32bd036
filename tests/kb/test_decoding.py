"""Bytes of other encodings become UTF-8; what is binary is told apart."""

from __future__ import annotations

import pytest

from kb.decoding import as_utf8, is_binary

TEXT = "naïve — 日本語\nsecond line\n"
LATIN = "a plain line of words\nand another\n"


@pytest.mark.parametrize(
    ("data", "text", "said"),
    [
        (TEXT.encode(), TEXT, None),
        (TEXT.encode("utf-8-sig"), TEXT, "utf-8 with a byte order mark"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), TEXT, "utf-16-le with a byte order mark"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT, "utf-16-be with a byte order mark"),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), TEXT, "utf-32-le with a byte order mark"),
        (b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"), TEXT, "utf-32-be with a byte order mark"),
        (LATIN.encode("utf-16-le"), LATIN, "utf-16-le"),
        (LATIN.encode("utf-16-be"), LATIN, "utf-16-be"),
        (b"", "", None),
    ],
)
def test_a_byte_order_mark_or_the_zeros_of_utf16_decide(data, text, said):
    recoded, encoding = as_utf8(data)
    assert (recoded.decode(), encoding) == (text, said)
    assert not is_binary(data)


@pytest.mark.parametrize("data", [b"caf\xe9", b"\xff\xfa", bytes(range(1, 256))])
def test_bytes_of_an_unknown_encoding_stay_as_they_are(data):
    assert as_utf8(data) == (data, None)


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x7fELF\x02\x01\x01\0\0\0\0\0", b"\0" * 100, b"a\0b"],
)
def test_binary_is_not_taken_for_utf16(data):
    assert is_binary(data)
    assert as_utf8(data) == (data, None)
