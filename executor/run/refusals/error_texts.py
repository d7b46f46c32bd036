"""What a program's error output says of refusals: the kernel's words for an error, and paths.

Every language prints the kernel's own words, and most of them the path. It is a guess all the same:
any program can print anything, so nothing here is called exact.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import NamedTuple

LINES_MAX = 400  # of what is looked at, the last of them
LINE_CHARACTERS_MAX = 2000
CANDIDATES_MAX = 24

# The words of an error, as libraries and runtimes print them, in lower case.
WORDS = {
    errno.EACCES: ("permission denied", "eacces", "accessdenied", "access to the path"),
    errno.EPERM: ("operation not permitted", "eperm"),
    errno.EROFS: ("read-only file system", "erofs", "readonlyfilesystem"),
    errno.ENOENT: (
        "no such file",
        "enoent",
        "not found",
        "directory nonexistent",
        "could not find",
        "cannot find",
        "can't open",
        "cannot open",
        "filenotfound",
        "nosuchfile",
    ),
    errno.ENETUNREACH: ("network is unreachable", "enetunreach", "network unreachable"),
    errno.ECONNREFUSED: ("connection refused", "econnrefused"),
    errno.EPROTONOSUPPORT: (
        "protocol not supported",
        "eprotonosupport",
        "getifaddrs",
        "uv_interface_addresses",
    ),
    errno.EAGAIN: (
        "fork: retry",
        "fork: resource temporarily",
        "fork failed",
        "cannot fork",
        "can't fork",
        "start new thread",
        "create native thread",
        "pthread_create",
    ),
    errno.EMFILE: ("too many open files", "emfile"),
    errno.EFBIG: ("file too large", "efbig"),
    errno.ENOKEY: ("failed to sign the data", "failed to write commit object"),  # as git says it
    errno.ENOMEM: ("cannot allocate memory", "enomem", "memoryerror", "out of memory"),
}
# Of a line that speaks of something that was to be made.
MAKING_WORDS = ("creat", "touch", "mkdir", "cp:", "mv:", "tee:", "directory nonexistent", "write")
_LEFT, _RIGHT = "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"
_QUOTED = re.compile(
    r"'([^'\n]{1,1024})'|\"([^\"\n]{1,1024})\"|`([^`'\n]{1,1024})[`']"
    rf"|{_LEFT}([^{_RIGHT}\n]{{1,1024}}){_RIGHT}"
)
_WORD = re.compile(rf"[^\s:,;()='\"`<>\[\]{_LEFT}{_RIGHT}]{{1,1024}}")


class ErrorText(NamedTuple):
    """One line that speaks of an error, and what of it may be a path, the likeliest first."""

    error: int
    candidates: tuple[str, ...]
    makes: bool = False  # whether it speaks of something that was to be made


def find_errors(text: str) -> Iterator[ErrorText]:
    """The lines that speak of an error that a sandbox may have caused."""
    for line in text.splitlines()[-LINES_MAX:]:
        short = line[:LINE_CHARACTERS_MAX]
        lower = short.lower()
        for error, words in WORDS.items():
            if any(word in lower for word in words):
                makes = "cannot stat" not in lower and any(w in lower for w in MAKING_WORDS)
                yield ErrorText(error, _candidates(short), makes)
                break


def _candidates(line: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(line):
        found[next(filter(None, match.groups()))] = None
    for match in _WORD.finditer(line):
        found[match[0].rstrip(".")] = None
    return tuple(found)[:CANDIDATES_MAX]
