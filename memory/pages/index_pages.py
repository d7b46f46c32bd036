"""The index of all pages and that of their tags, made anew at each push."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memory.pages.fronts import Front
from memory.pages.model import FOLDERS, PAGE_TYPES, PageType
from memory.pages.slugs import slug_of

INDEX, TAGS = "index.md", "tags.md"
_HEADINGS: Mapping[PageType, str] = {
    "concept": "Concepts",
    "entity": "Entities",
    "source": "Sources",
    "analysis": "Analyses",
}
_MARKS = re.compile(r"([\\`*_\[\]<>|#~&])")


def make_index_pages(fronts: Mapping[str, Front]) -> dict[str, str]:
    """Return the texts of `index.md` and `tags.md`. The same pages give the same bytes."""
    return {INDEX: _make_index(fronts), TAGS: _make_tags(fronts)}


def _make_index(fronts: Mapping[str, Front]) -> str:
    pieces = ["# Index\n"]
    for page_type in PAGE_TYPES:
        below = f"{FOLDERS[page_type]}/"
        paths = sorted(path for path in fronts if path.startswith(below) and slug_of(path))
        if paths:
            pieces.append(f"\n## {_HEADINGS[page_type]}\n\n")
            pieces += [f"- {_link(path, fronts[path])}{_summary(fronts[path])}\n" for path in paths]
    return "".join(pieces)


def _make_tags(fronts: Mapping[str, Front]) -> str:
    tagged: dict[str, list[str]] = {}
    for path in sorted(fronts):
        for tag in filter(None, dict.fromkeys(fronts[path].tags)):
            tagged.setdefault(tag, []).append(path)
    pieces = ["# Tags\n"]
    for tag in sorted(tagged, key=lambda one: (one.casefold(), one)):
        pieces.append(f"\n## {_escape(tag)}\n\n")
        pieces += [f"- {_link(path, fronts[path])}\n" for path in tagged[tag]]
    return "".join(pieces)


def _link(path: str, front: Front) -> str:
    named = slug_of(path)
    return f"[{_escape(front.title or (named[1] if named else path))}]({path})"


def _summary(front: Front) -> str:
    return f": {_escape(front.summary)}" if front.summary else ""


def _escape(text: str) -> str:
    """Return a text as Markdown shows it, that can be no link, heading or mark of its own."""
    return _MARKS.sub(r"\\\1", text)
