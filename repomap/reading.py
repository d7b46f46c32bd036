"""Reading one file for a map: its bytes as UTF-8, or the reason why it is left out."""

from __future__ import annotations

from pathlib import Path

from base.plain_files import read_plain
from kb import as_utf8, is_binary
from kb.detect import detect

MARK = "<!-- context-mode:pack -->"
RULES_HEAD = f"""\
---
description: Files of this project for the present task
alwaysApply: true
---
{MARK}"""
"""A rules file of Cursor has its frontmatter first."""

HEADS = (MARK, RULES_HEAD)
JSON_HEAD = f'{{\n "made_by": "{MARK}"'
"""Of JSON that is indented by one, with the mark as its first value."""


def is_marked(data: bytes) -> bool:
    """Tell whether a file begins as one that was written here."""
    return data.startswith(_BEGINNINGS)


_BEGINNINGS = tuple(head.encode() for head in (*HEADS, JSON_HEAD))


LINE_BYTES = 16 * 1024
"""A longer line is generated: a bundle, a table of data."""

HEAD_BYTES = 8 * 1024


def read_text(root: Path, path: str, bytes_max: int) -> tuple[bytes, str | None] | str:
    """Return the text of a file and its language, or the name of the reason why it has none."""
    try:
        data = read_plain(root / path, bytes_max, root)
    except (FileNotFoundError, NotADirectoryError):
        return "vanished"
    except PermissionError:
        return "permission"
    except OSError:
        return "vanished"
    if is_binary(data[:HEAD_BYTES]):
        return "binary"
    if is_marked(data):
        return "pack"
    data, _ = as_utf8(data)
    return _find_fault(data) or (data, detect(data[:HEAD_BYTES], name=path).language)


def _find_fault(data: bytes) -> str:
    """Name the reason why bytes are no text of a program or a reader; empty where they are."""
    if b"\0" in data:
        return "binary"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "encoding"
    return "generated" if any(len(line) > LINE_BYTES for line in data.split(b"\n")) else ""
