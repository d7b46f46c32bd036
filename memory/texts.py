"""Storage forms of texts: compressed or cut; times; paths relative to the session's folder."""

from __future__ import annotations

import time

USER_BYTES_MAX = 2048
ANSWER_BYTES_MAX = 4096
TURNS_MAX = 500
TURNS_DROPPED = 100
"""Limits of captured turns: bytes of the request and of the answer, turns of a session, and the
oldest dropped at once if there are more."""

BUFFER_CAP = "buffer_cap"
"""The reason in the mark for dropped turns."""


def write_time(at: float) -> str:
    """Return a time in the form of pages and turns."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def pack(text: str | None) -> bytes | None:
    """Deflate a text to be stored."""
    import zlib  # noqa: PLC0415 - hooks pack nothing

    return None if text is None else zlib.compress(text.encode(), 6)


def unpack(data: bytes | None) -> str | None:
    """Restore a text that was deflated."""
    import zlib  # noqa: PLC0415

    return None if data is None else zlib.decompress(data).decode()


def size_bytes(text: str) -> int:
    """Return how many bytes of UTF-8 a text takes; a lone surrogate counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def one_line(text: str) -> str:
    """Return a text as one line, whatever ends its lines."""
    return " ".join(text.split())


def cut_bytes(text: str, bytes_max: int) -> str:
    """Return the text, cut to `bytes_max` bytes if it is longer: at a word if possible, with an
    ellipsis."""
    data = text.encode()
    if len(data) <= bytes_max:
        return text
    cut = data[: max(bytes_max - 3, 0)].decode(errors="ignore")
    words = cut.rsplit(None, 1)[0] if " " in cut[len(cut) // 2 :] else cut
    return (words.rstrip() + "…") if bytes_max >= 3 else ""


def shorten_path(path: str, folder: str, home: str) -> str:
    """Return a path relative to the session's folder or to the home (`~/`), else unchanged."""
    plain = _normalise(path)
    for root, prefix in ((folder, ""), (home, "~/")):
        base = root.rstrip("/")
        if base and plain.startswith(base + "/"):
            return prefix + plain[len(base) + 1 :]
    return plain


def _normalise(path: str) -> str:
    """Remove `.` and doubled slashes from a path; `..` stays, since a link may come before it."""
    lead = "/" if path.startswith("/") else ""
    return lead + "/".join(part for part in path.split("/") if part not in ("", ".")) or path
