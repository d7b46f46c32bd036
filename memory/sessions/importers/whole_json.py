"""Reading of JSON files that are rewritten each time: whole, or an array one object at a time.

Links are not followed; only plain files of limited size are read.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from base.plain_files import open_plain

BYTES_MAX = 64 << 20
"""Limit for one JSON value, since it is held in memory."""

_CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_SKIPPED = re.compile(r"[ \t\r\n,]*")


def read_json(path: str, bytes_max: int = BYTES_MAX) -> Any:  # noqa: ANN401 - a stranger's
    """Read a file's JSON.

    Raises:
        OSError: it cannot be read, or is a link.
        ValueError: it is not JSON, or too large.
    """
    with open_plain(path, follow=False) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise ValueError(f"more than {bytes_max} bytes")
    return load_json(data)


def load_json(data: bytes | str) -> Any:  # noqa: ANN401 - a stranger's
    """Read JSON of any depth.

    Raises:
        ValueError: it is invalid, or nested too deep.
    """
    try:
        if isinstance(data, bytes):
            return json.loads(data.decode("utf-8-sig", "replace"))
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None


class RefusedError(ValueError):
    """Error: a file is not read; the text has the reason, for users."""


def read_array(path: str, bytes_max: int = BYTES_MAX) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file that is one array, holding little more than one in memory. Other
    items are skipped.

    Raises:
        OSError: it cannot be read, or is a link.
        ValueError: it is not an array, is torn, or one object of it is too large.
    """
    with open_plain(path, follow=False) as file:
        yield from read_open_array(file, bytes_max)


class Readable(Protocol):
    """An open file, or an object that reads like one."""

    def read(self, size: int, /) -> bytes: ...


def read_open_array(file: Readable, bytes_max: int = BYTES_MAX) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of an open file, like `read_array`."""
    stream = _Stream(file, bytes_max)
    if stream.peek() != "[":
        raise ValueError("no array")
    yield from filter(_is_object, stream.items())


def read_members(
    path: str, streamed: str, bytes_max: int = BYTES_MAX
) -> Iterator[tuple[str, Any, bool]]:
    """Yield the members of a file that is one object: name, value, and False. The array named
    `streamed` yields its objects instead, each with True, one at a time.

    Raises:
        OSError: it cannot be read, or is a link.
        ValueError: it is not an object, is torn, or one value of it is too large.
    """
    with open_plain(path, follow=False) as file:
        stream = _Stream(file, bytes_max)
        if stream.peek() != "{":
            raise ValueError("no object")
        stream.skip()
        while stream.peek(_SKIPPED) != "}":
            name = stream.value()
            if not isinstance(name, str) or stream.peek() != ":":
                raise ValueError("no JSON")
            stream.skip()
            if name == streamed and stream.peek() == "[":
                yield from ((name, one, True) for one in stream.items() if _is_object(one))
            else:
                yield name, stream.value(), False


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


class _Stream:
    """The values of an open file of JSON, read on demand."""

    def __init__(self, file: Readable, bytes_max: int) -> None:
        self._file = file
        self._bytes_max = bytes_max
        self._reader = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = json.JSONDecoder()
        self._at = 0
        self._text = self._reader.decode(file.read(_CHUNK)).removeprefix("\ufeff")

    def peek(self, passed: re.Pattern[str] = _SPACE) -> str:
        """Return the next character that is not skipped, or nothing at the end."""
        while True:
            found = passed.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        self._at += 1

    def items(self) -> Iterator[Any]:
        """Yield the items of the array that begins here."""
        self.skip()
        while self.peek(_SKIPPED) != "]":
            yield self.value()
        self.skip()

    def value(self) -> Any:  # noqa: ANN401 - a stranger's
        """Read the next value."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError("nested too deep") from None
            except ValueError:
                if len(self._text) - self._at > self._bytes_max or not self._read_more():
                    raise ValueError("torn, not JSON, or too large") from None
                continue
            # A number may continue after the part read so far.
            is_number = isinstance(value, int | float)
            if is_number and end == len(self._text) and self._read_more():
                continue
            self._at = end
            return value

    def _read_more(self) -> bool:
        """Read more, twice as much each time, so that a long value is not read repeatedly."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + self._reader.decode(more), 0
        return bool(more)
