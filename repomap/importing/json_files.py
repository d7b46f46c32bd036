"""Configuration in JSON, as tools read it: with comments and commas too many."""

from __future__ import annotations

import json
import re
from typing import Any

from repomap.importing.tree import Tree

_TOKEN = re.compile(r'["/,}\]]')
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def read_json_object(tree: Tree, path: str) -> dict[str, Any]:
    """Return the object that a file of the tree holds; empty where it is none."""
    try:
        found = json.loads(strip_comments(tree.read(path).decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def strip_comments(text: str) -> str:
    """Return JSON without comments, and without commas before a closing bracket, in one pass."""
    kept: list[str] = []
    comma = -1  # where in `kept` a comma is, behind which came only blanks
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        begin = found.start()
        kept.append(text[at:begin])
        if kept[-1].strip():
            comma = -1
        end = _skip_comment(text, begin) if found[0] == "/" else begin
        if end > begin:
            kept.append(" ")
            at = end
            continue
        if found[0] == '"':
            string = _STRING.match(text, begin)
            at = len(text) if string is None else string.end()
        else:
            at = begin + 1
        if comma >= 0 and found[0] in "}]":
            kept[comma] = ""
        comma = len(kept) if found[0] == "," else -1
        kept.append(text[begin:at])
    kept.append(text[at:])
    return "".join(kept)


def _skip_comment(text: str, begin: int) -> int:
    """Return where a comment ends, or where it would begin if there is none."""
    if text.startswith("//", begin):
        end = text.find("\n", begin)
        return len(text) if end < 0 else end
    if text.startswith("/*", begin):
        end = text.find("*/", begin + 2)
        return len(text) if end < 0 else end + 2
    return begin
