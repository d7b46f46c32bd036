"""Reading a CLAUDE.md: each part below a heading is a fact, or each item of one that is a list."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from memory.facts.claude_md import drop_section
from memory.facts.incoming import Incoming, Reading
from memory.facts.model import TITLE_BYTES_MAX, Category, Draft, Scope
from memory.facts.paths import make_slug
from memory.facts.priming import make_source, split_sections
from memory.texts import cut_bytes

_SLUG_BYTES = 60
_BLOCKS = MarkdownIt("commonmark").disable("inline")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_LISTS = ("bullet_list", "ordered_list")


def read_claude_md(
    text: str, source: str, scope: Scope, *, category: Category = "import"
) -> Reading:
    """Read a file of this name. What an export wrote into it is no part of it.

    Raises:
        BadInputError: the marks of an export are no pair, or the name is none.
    """
    reading, name = Reading(), make_source(source)
    own = drop_section(text)
    if own != text:
        reading.left_out.append("the section that an export wrote: its facts stand here already")
    used: dict[str, int] = {}
    for section in split_sections(own, source):
        title = cut_bytes(" ".join(section.title.split()), TITLE_BYTES_MAX)
        folder = _find_free(f"/memory/{name}/{_slug(title)}", used)
        items = list_items(section.text)
        for item in items or [section.text]:
            path = _find_free(f"{folder}/{_slug(item)}", used) if items else folder
            draft = Draft(item, title, path, category=category, source=name, scope=scope)
            reading.found.append(Incoming(draft))
    return reading


def list_items(text: str) -> list[str]:
    """List the items of a Markdown text that is nothing but lists; what is below an item is part of
    it. Of other texts there are none."""
    lines = text.split("\n")
    items = list[str]()
    for token in _BLOCKS.parse(text):
        if token.level == 0 and token.type.rpartition("_")[0] not in _LISTS:
            return []
        if token.level == 1 and token.type == "list_item_open" and token.map:
            items.append(_outdent(lines[token.map[0] : token.map[1]]))
    return [item for item in items if item]


def _outdent(lines: list[str]) -> str:
    found = _ITEM.match(lines[0])
    width = found.end() if found else 0
    rest = [line[width:] if not line[:width].strip() else line.lstrip() for line in lines[1:]]
    return "\n".join([lines[0][width:], *rest]).strip()


def _slug(text: str) -> str:
    first = text.strip().partition("\n")[0]
    return cut_bytes(make_slug(first), _SLUG_BYTES).rstrip("…").strip("-") or "section"


def _find_free(path: str, used: dict[str, int]) -> str:
    """Return a path that nothing before has: of two that are alike the second ends in -2."""
    free, number = path, used.get(path, 0)
    while free in used:
        number += 1
        free = f"{path}-{number}"
    used[path] = max(number, 1)
    used[free] = max(used.get(free, 0), 1)
    return free
