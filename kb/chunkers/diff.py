"""Diffs and patches by file and hunk: `src/main.c > @@ -10,7 +10,8 @@ int main`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.chunks import Mark

_HEADER = re.compile(
    rb"^(?:diff --git a/[^\n]* b/(?P<git>[^\n]*)|Index: (?P<svn>[^\n]*)"
    rb"|--- (?P<old>[^\t\n]*)[^\n]*\n\+\+\+ (?P<new>[^\t\n]*)"
    rb"|(?P<hunk>@@ -\d[^\n]{0,200})|(?P<commit>commit [0-9a-f]{7,64})\b)",
    re.MULTILINE,
)


def marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """A mark a commit, a file and a hunk; a file's header goes with its first hunk."""
    commit: tuple[str, ...] = ()
    file, file_start, in_header = "", 0, False
    for found in _HEADER.finditer(data):
        if found["hunk"]:
            start = file_start if in_header else found.start()
            in_header = False
            hunk = _text(found["hunk"])
            yield Mark(start, (*commit, file, hunk) if file else (*commit, hunk))
        elif found["commit"]:
            commit, file, in_header = (_text(found["commit"]),), "", False
            yield Mark(found.start(), commit)
        else:
            if not in_header:
                file_start, in_header = found.start(), True
                yield Mark(file_start, (*commit, _file(found) or "file"))
            file = _file(found) or file


def _file(found: re.Match[bytes]) -> str:
    new = found["new"]
    if new == b"/dev/null":
        new = found["old"]
    name = _text(found["git"] or found["svn"] or new or b"")
    return name[2:] if found["new"] and name[:2] in ("a/", "b/") else name


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()
