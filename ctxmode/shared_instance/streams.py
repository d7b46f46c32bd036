"""Standard streams of the commands that one process works on at the same time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import IO

NAMES = ("stdin", "stdout", "stderr")

# Those of the command whose code runs in this context: `sys.stdout` and the others lead to them.
current: ContextVar[dict[str, IO[str]] | None] = ContextVar("current", default=None)


class _ContextStream:
    """A standard stream: that of the command of this context, or of the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own = getattr(sys, name)

    def __getattr__(self, attribute: str) -> object:
        streams = current.get()
        return getattr(streams[self._name] if streams else self._own, attribute)


def install() -> None:
    """Have the standard streams of this process lead to those of each context."""
    for name in NAMES:
        setattr(sys, name, _ContextStream(name))


@contextmanager
def open_streams(descriptors: list[int], errors: str) -> Iterator[dict[str, IO[str]]]:
    """Open the streams of a command as the interpreter opens its own, and close them."""
    with ExitStack() as stack:
        streams: dict[str, IO[str]] = {}
        for name, descriptor in zip(NAMES, descriptors, strict=True):
            mode = "r" if name == "stdin" else "w"
            handling = "backslashreplace" if name == "stderr" else errors
            by_line = 1 if name == "stderr" or os.isatty(descriptor) else -1
            opened = open(descriptor, mode, by_line, encoding="utf-8", errors=handling)  # noqa: SIM115
            stack.callback(_close, opened)
            streams[name] = opened
        yield streams


def _close(stream: IO[str]) -> None:
    with suppress(OSError, ValueError):  # its reader is gone
        stream.close()
