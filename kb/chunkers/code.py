"""Programs by definitions, and their changes by commit, file and hunk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.decoding import Plain
from kb.packing import CAP_BYTES, Mark
from kb.parsing import find_definitions, is_parsed, parse

_HEADER = re.compile(
    rb"^(?:diff --git a/[^\n]* b/(?P<git>[^\n]*)|Index: (?P<svn>[^\n]*)"
    rb"|--- (?P<old>[^\t\n]*)[^\n]*\n\+\+\+ (?P<new>[^\t\n]*)"
    rb"|(?P<hunk>@@ -\d[^\n]{0,200})|(?:[*|/\\][*|/\\ ]{0,20})?"
    rb"(?:commit (?P<commit>[0-9a-f]{7,64})\b"
    rb"|(?P<short>[0-9a-f]{7,12}) (?P<line>[^\n]{1,200})))",
    re.MULTILINE,
)
_SUBJECT = re.compile(rb"^[|\\/ ]{0,20}    (\S[^\n]{0,200})", re.MULTILINE)
_HASH_CHARS = 7


def diff_marks(data: bytes, language: str | None = None) -> Iterator[Mark]:
    """Yield a mark for each commit, file and hunk; a file's header belongs to its first hunk."""
    plain = Plain(data)
    commit: tuple[str, ...] = ()
    file, file_start, in_header = "", 0, False
    for found in _HEADER.finditer(plain.text):
        start = plain.place(found.start())
        if found["hunk"]:
            start = file_start if in_header else start
            in_header = False
            hunk = _text(found["hunk"])
            yield Mark(start, (*commit, file, hunk) if file else (*commit, hunk))
        elif found["commit"] or found["short"]:
            commit, file, in_header = (_commit(plain.text, found),), "", False
            yield Mark(start, commit)
        else:
            if not in_header:
                file_start, in_header = start, True
                yield Mark(file_start, (*commit, _file(found) or "file"))
            file = _file(found) or file


def _commit(text: bytes, found: re.Match[bytes]) -> str:
    """Return the beginning of its hash, and its subject if that follows."""
    if found["short"]:
        return f"commit {_text(found['short'])}: {_text(found['line'])}"
    name = f"commit {_text(found['commit'])[:_HASH_CHARS]}"
    end = text.find(b"\ncommit ", found.end(), found.end() + CAP_BYTES)
    subject = _SUBJECT.search(text, found.end(), found.end() + CAP_BYTES if end < 0 else end)
    return f"{name}: {_text(subject[1])}" if subject else name


def _file(found: re.Match[bytes]) -> str:
    new = found["new"]
    if new == b"/dev/null":
        new = found["old"]
    name = _text(found["git"] or found["svn"] or new or b"")
    return name[2:] if found["new"] and name[:2] in ("a/", "b/") else name


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()


_DEPTH = 32


def code_marks(data: bytes, language: str | None) -> Iterator[Mark]:
    """Yield a mark where a definition starts, and one where the code around it resumes."""
    if language is None or not is_parsed(data, language):
        return
    enclosing: list[tuple[int, tuple[str, ...]]] = []
    path: tuple[str, ...] = ()
    for start, end, name, _ in find_definitions(data, language, parse(data, language)):
        while enclosing and enclosing[-1][0] <= start:
            before, path = enclosing.pop()
            yield Mark(before, path)
        enclosing.append((end, path))
        if name:
            path = (*path[1 - _DEPTH :], name)
        yield Mark(start, path, identifiers=(name,))
    for end, outer in reversed(enclosing):
        yield Mark(end, outer)
