"""The text of a commit: what is written into one for fast-import, and what is read from a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from memory.pages.model import Commit

COMMITTER = "context-mode"
LOG_FORMAT = "%H%x00%an%x00%at%x00%B"
TRAILERS = ("Agent", "Session", "Buffer")
_NAME_CHARS_MAX = 200
_TRAILER_CHARS_MAX = 500
_MESSAGE_CHARS_MAX = 16 * 1024
_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_UNSAFE_IN_LINES = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)


def one_line(text: str, chars_max: int) -> str:
    """Return a text as a line of its own: no control character, no lone surrogate."""
    plain = _UNSAFE.sub(" ", text).encode("utf-8", "replace").decode()
    return " ".join(plain.split())[:chars_max].strip()


def identity(author: str) -> str:
    """Return a name, perhaps with its address, as git writes it. Neither can hold `<` or `>`."""
    line = one_line(author, _NAME_CHARS_MAX)
    match = re.fullmatch(r"([^<>]*)<([^<>\s]*)>", line)
    name, address = (match[1], match[2]) if match else (line, "")
    name = re.sub("[<>]", "", name).strip(" .,:;\"'\\")
    return f"{name or 'unknown'} <{address}>"


def message_of(subject: str, trailers: Mapping[str, str]) -> str:
    """Return the whole message. The last paragraph is ours alone, whatever stands before it."""
    text = _UNSAFE_IN_LINES.sub(" ", subject.replace("\r\n", "\n").replace("\r", "\n"))
    text = text.encode("utf-8", "replace").decode()[:_MESSAGE_CHARS_MAX].strip()
    first, _, rest = text.partition("\n")
    parts = [first.strip() or "Change pages"]
    if rest.strip():
        parts.append(rest.strip("\n"))
    values = {name: one_line(trailers.get(name, ""), _TRAILER_CHARS_MAX) for name in TRAILERS}
    values["Agent"] = values["Agent"] or "unknown"
    parts.append("\n".join(f"{name}: {value}" for name, value in values.items() if value))
    return "\n\n".join(parts) + "\n"


def import_stream(  # noqa: PLR0913 - what a commit is made of
    branch: str,
    files: Mapping[str, str | None],
    *,
    parent: str,
    author: str,
    message: str,
    at: int,
) -> bytes:
    """Return one commit for fast-import: files with their texts, None where one is deleted."""
    text = message.encode()
    pieces = [
        f"commit {branch}\n".encode(),
        f"author {identity(author)} {at} +0000\n".encode(),
        f"committer {COMMITTER} <> {at} +0000\n".encode(),
        b"data %d\n%s\n" % (len(text), text),
    ]
    if parent:
        pieces.append(f"from {parent}\n".encode())
    for path, content in files.items():
        if content is None:
            pieces.append(b"D " + _quote(path) + b"\n")
        else:
            data = content.encode()
            pieces.append(b"M 100644 inline " + _quote(path) + b"\n")
            pieces.append(b"data %d\n%s\n" % (len(data), data))
    pieces.append(b"\ndone\n")
    return b"".join(pieces)


def parse_log(said: bytes) -> Iterator[Commit]:
    """Read what `log -z --format=LOG_FORMAT` prints."""
    fields = said.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 3, 4):
        sha, author, seconds, message = fields[at : at + 4]
        yield _commit(sha.strip(), author, seconds, message)


def _commit(sha: str, author: str, seconds: str, message: str) -> Commit:
    found: dict[str, str] = {}
    paragraphs = message.strip().split("\n\n")
    if len(paragraphs) > 1:  # a subject is no trailer
        for line in paragraphs[-1].split("\n"):
            name, mark, value = line.partition(": ")
            if mark and name in TRAILERS:
                found.setdefault(name, value)
    agent = found.get("Agent", "")
    return Commit(
        sha,
        author,
        float(seconds or 0),
        message.strip().split("\n", 1)[0],
        agent="" if agent == "unknown" else agent,
        session=found.get("Session", ""),
        buffer=found.get("Buffer", ""),
    )


def _quote(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()
