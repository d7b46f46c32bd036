"""Read a file of JSON that is written anew each time: whole, or an array one object at a time.

No link is followed, nothing but a plain file is read, and none that is too large.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

BYTES_MAX = 64 << 20
"""What one JSON value may take; a larger one is refused, since it is held in memory."""

_CHUNK = 1 << 20
_BETWEEN = " \t\r\n"
_SKIPPED = re.compile(r"[ \t\r\n,]*")


@contextmanager
def open_plain(path: str) -> Iterator[BinaryIO]:
    """Open a plain file for reading.

    Raises:
        OSError: it can't be read, or is a link.
        ValueError: it is no plain file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("no plain file")
        yield file


def read_json(path: str, bytes_max: int = BYTES_MAX) -> Any:  # noqa: ANN401 - a stranger's
    """Read a file's JSON.

    Raises:
        OSError: it can't be read, or is a link.
        ValueError: it is no JSON, or too large.
    """
    with open_plain(path) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise ValueError(f"more than {bytes_max} bytes")
    return load_json(data)


def load_json(data: bytes | str) -> Any:  # noqa: ANN401 - a stranger's
    """Read JSON of any depth.

    Raises:
        ValueError: it is none, or nested too deep.
    """
    try:
        if isinstance(data, bytes):
            return json.loads(data.decode("utf-8-sig", "replace"))
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None


def read_array(path: str, bytes_max: int = BYTES_MAX) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a file that is one array, holding little more than one at a time.

    What is no object is passed over.

    Raises:
        OSError: it can't be read, or is a link.
        ValueError: it is no array, is torn, or one object of it is too large.
    """
    decoder, reader = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace")
    with open_plain(path) as file:
        text = reader.decode(file.read(_CHUNK)).removeprefix("\ufeff").lstrip(_BETWEEN)
        if not text.startswith("["):
            raise ValueError("no array")
        at = 1
        while True:
            at = _SKIPPED.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
            if text.startswith("]", at):
                return
            try:
                value, at = decoder.raw_decode(text, at)
            except RecursionError:
                raise ValueError("nested too deep") from None
            except ValueError:
                # Twice as much each time, so that a long object isn't read over and over.
                more = file.read(max(_CHUNK, len(text) - at))
                if not more or len(text) - at > bytes_max:
                    raise ValueError("torn, no JSON, or too large") from None
                text, at = text[at:] + reader.decode(more), 0
                continue
            if isinstance(value, Mapping):
                yield value
