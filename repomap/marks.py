"""How a file begins that a pack or a map was written to: it is known by that, left out of later
maps, and the only kind that is ever replaced."""

from __future__ import annotations

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
