"""Three-way merge of two versions of a page, by section and by field (C13).

A change of one side is taken. If both changed the same part, the text has both sides between git's
conflict marks, and the part is reported as a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.pages.field_yaml import write_fields
from memory.pages.frontmatter import FIELD_NAMES
from memory.pages.section_diff import core_of, flow_of, is_list, read_version, value_key
from memory.pages.sections import (
    Section,
    Sections,
    name_of,
    pair_sections,
    plain_lines,
    split_sections,
)

MERGE_MARKS = ("<<<<<<< mine", "=======", ">>>>>>> theirs")
"""The lines before, between and after the two sides of a conflict."""

_LATEST = ("updated", "parent_sha")
"""Fields that every push changes: they never conflict, and the later text is used."""


SectionConflict = tuple[str, tuple[str, str, str]]
"""A part that both sides changed: the heading of a section, the name of a field, or of the text
before the first section; and the texts of base, mine and theirs, empty if missing."""

_PREAMBLE = "text before the first"


Merged = tuple[str, tuple[SectionConflict, ...]]
"""A merged page, and its conflicts. It has mine of a field in conflict, and both sides of a
section."""


def merge_sections(base: str, mine: str, theirs: str) -> Merged:
    """Merge two versions of a page with their common base."""
    if mine in (base, theirs):
        return (theirs, ())
    if theirs == base:
        return (mine, ())
    versions = [read_version(text) for text in (base, mine, theirs)]
    if any(fields is None for fields, _ in versions):
        return _conflict_whole(base, mine, theirs)
    end = _line_end(base, mine, theirs)
    bodies = [plain_lines(body) if end else body for _, body in versions]
    fields, conflicts = _merge_fields(*[read or {} for read, _ in versions])
    sides = ((theirs, versions[2]), (mine, versions[1]))
    # A side whose fields equal the merged ones keeps its own spelling and comments.
    same = [
        plain_lines(text[: len(text) - len(body)])
        for text, (read, body) in sides
        if value_key(read) == value_key(fields)
    ]
    body, more = _merge_bodies(*bodies)
    text = (min(same) if same else _write_head(fields)) + body
    if end:
        text = text.replace("\n", end)
    return text, (*conflicts, *more)


def _line_end(base: str, mine: str, theirs: str) -> str:
    """Return the line end of the merged text; empty if a side mixes several."""
    ends = [_only_end(text) for text in (base, mine, theirs)]
    if "" in ends:
        return ""
    return ends[2] if ends[1] == ends[0] else ends[1]


def _only_end(text: str) -> str:
    pairs = text.count("\r\n")
    if pairs and pairs == text.count("\n") == text.count("\r"):
        return "\r\n"
    return "" if "\r" in text else "\n"


def _merge_fields(
    base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[SectionConflict]]:
    found: dict[str, Any] = {}
    conflicts = list[SectionConflict]()
    others = sorted({*mine, *theirs} - {*FIELD_NAMES, *base})
    for name in dict.fromkeys([*FIELD_NAMES, *base, *others]):
        b, m, t = base.get(name), mine.get(name), theirs.get(name)
        keys = [value_key(one) for one in (b, m, t)]
        if keys[1] in (keys[0], keys[2]):
            value, source = t, theirs
        elif keys[2] == keys[0]:
            value, source = m, mine
        elif all(is_list(one) or one is None for one in (b, m, t)):
            value, source = _merge_lists(b or [], m or [], t or []), {name: None}
        elif name in _LATEST and isinstance(m, str) and isinstance(t, str):
            value, source = max(m, t), mine
        else:
            value, source = m, mine
            old, ours, other = (write_fields({name: one}).strip() for one in (b, m, t))
            conflicts.append((f"field {name}", (old, ours, other)))
        if name in source:
            found[name] = value
    return found, conflicts


def _merge_lists(base: list[Any], mine: list[Any], theirs: list[Any]) -> list[Any]:
    b, m, t = ({value_key(one): one for one in items} for items in (base, mine, theirs))
    kept = [value for key, value in b.items() if key in m and key in t]
    new = {key: value for key, value in (m | t).items() if key not in b}
    return kept + [new[key] for key in sorted(new)]


def _write_head(fields: Mapping[str, Any]) -> str:
    if not fields:
        return ""
    return f"---\n{write_fields(fields)}---\n"


def _merge_bodies(base: str, mine: str, theirs: str) -> Merged:
    if mine in (base, theirs):
        return (theirs, ())
    if theirs == base:
        return (mine, ())
    merger = _Merger(split_sections(base), split_sections(mine), split_sections(theirs))
    pieces = merger.merge()
    text = _join(pieces)
    names = [name_of(one.heading) for one in split_sections(text)[1]]
    if not merger.conflicts and names != [name_of(one.heading) for one in pieces[1:]]:
        # One side leaves something open, such as a fence, which swallows the following text.
        return _conflict_whole(base, mine, theirs)
    return text, tuple(merger.conflicts)


class _Merger:
    """Merger of the sections of three versions. Sections of the base are named by their place in
    it."""

    def __init__(self, base: Sections, mine: Sections, theirs: Sections) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.conflicts: list[SectionConflict] = []
        self._of_mine = _places(base, mine)
        self._of_theirs = _places(base, theirs)

    def merge(self) -> list[Section]:
        preamble = self._merge_one(
            *(Section("", "", preamble) for preamble, _ in (self.base, self.mine, self.theirs))
        )
        kept: dict[int, Section] = {}
        for at, section in enumerate(self.base[1]):
            found = self._merge_one(
                section,
                _at(self.mine[1], self._of_mine.get(at)),
                _at(self.theirs[1], self._of_theirs.get(at)),
            )
            if found is not None:
                kept[at] = found
        added = [
            _additions(side, places, kept)
            for side, places in ((self.mine, self._of_mine), (self.theirs, self._of_theirs))
        ]
        common = self._merge_common(*added)
        pieces, used = [preamble or Section("", "", "")], set[str]()
        for at in [-1, *self._order(kept)]:
            if at >= 0:
                pieces.append(kept[at])
            groups = sorted((one.get(at, []) for one in added), key=_text_of)
            for section in (section for group in groups for section in group):
                name = name_of(section.heading)
                if name not in common:
                    pieces.append(section)
                elif name not in used:
                    used.add(name)
                    pieces.append(common[name])
        return pieces

    def _merge_common(
        self, mine: Mapping[int, list[Section]], theirs: Mapping[int, list[Section]]
    ) -> dict[str, Section]:
        """Merge the sections that both sides added below the same heading."""
        a, b = (
            {name_of(one.heading): one for group in side.values() for one in group}
            for side in (mine, theirs)
        )
        found = {}
        for name in a:
            merged = self._merge_one(None, a[name], b[name]) if name in b else None
            if merged is not None:
                found[name] = merged
        return found

    def _merge_one(
        self, base: Section | None, mine: Section | None, theirs: Section | None
    ) -> Section | None:
        if mine is None or theirs is None:
            left = mine or theirs
            if left is None or base is None or _is_same(base, left):
                return None
            return self._conflict(base, mine, theirs)
        heads = _choose(base.head if base else None, mine.head, theirs.head, _head_key)
        bodies = _choose(base.body if base else None, mine.body, theirs.body, core_of, flow_of)
        if heads is None or bodies is None:
            return self._conflict(base, mine, theirs)
        heading = mine.heading if heads == mine.head else theirs.heading
        return Section(heading, heads, bodies)

    def _conflict(
        self, base: Section | None, mine: Section | None, theirs: Section | None
    ) -> Section:
        base_text, own, other = (one.text if one else "" for one in (base, mine, theirs))
        heading = next(one.heading for one in (mine, theirs) if one)
        self.conflicts.append((heading or _PREAMBLE, (base_text, own, other)))
        return Section(heading, "", _marked(own, other))

    def _order(self, kept: Mapping[int, Section]) -> list[int]:
        """Return the order of the base's sections, from the side that changed it."""
        plain = sorted(kept)
        orders = [
            _fill([at for at in places if at in kept], plain)
            for places in (self._of_mine, self._of_theirs)
        ]
        changed = [one for one in orders if one != plain]
        return min(changed) if changed else plain


def _places(base: Sections, side: Sections) -> dict[int, int]:
    """Return the places of the base's sections in a side, in the order of that side."""
    return dict(pair_sections(base[1], side[1]))


def _at(sections: Sequence[Section], place: int | None) -> Section | None:
    return None if place is None else sections[place]


def _fill(order: list[int], plain: Sequence[int]) -> list[int]:
    """Insert the missing items of an order after their predecessors in the plain one."""
    there = set(order)
    for rank, at in enumerate(plain):
        if at not in there:
            place = order.index(plain[rank - 1]) + 1 if rank else 0
            order.insert(place, at)
            there.add(at)
    return order


def _additions(
    side: Sections, places: Mapping[int, int], kept: Mapping[int, Section]
) -> dict[int, list[Section]]:
    """Return the sections that a side added, by the section of the base before them."""
    of = {new: old for old, new in places.items()}
    found: dict[int, list[Section]] = {}
    before = -1
    for place, section in enumerate(side[1]):
        if place not in of:
            found.setdefault(before, []).append(section)
        elif of[place] in kept:
            before = of[place]
    return found


def _choose(base: str | None, mine: str, theirs: str, *keys: Callable[[str], str]) -> str | None:
    """Return the merged text, comparing more and more loosely; None if both changed it."""
    for key in (_exact, *keys):
        b = None if base is None else key(base)
        m, t = key(mine), key(theirs)
        if m == t:
            return min(mine, theirs)
        if m == b:
            return theirs
        if t == b:
            return mine
    return None


def _exact(text: str) -> str:
    return text


def _head_key(head: str) -> str:
    return flow_of(head)


def _is_same(a: Section, b: Section) -> bool:
    return _head_key(a.head) == _head_key(b.head) and flow_of(a.body) == flow_of(b.body)


def _join(pieces: Sequence[Section]) -> str:
    """Join sections. A heading keeps the blank line before it, unless it had none."""
    text = ""
    for piece in pieces:
        if text and piece.text and not text.endswith(("\n\n", "\n\r\n\r\n")):
            is_tight = text.endswith("\n") and piece.head.lstrip(" ").startswith("#")
            if not is_tight:
                text += "\n" if text.endswith(("\n", "\r")) else "\n\n"
        text += piece.text
    return text


def _marked(mine: str, theirs: str) -> str:
    ends = [text if text.endswith("\n") or not text else f"{text}\n" for text in (mine, theirs)]
    begin, middle, end = MERGE_MARKS
    return f"{begin}\n{ends[0]}{middle}\n{ends[1]}{end}\n"


def _conflict_whole(base: str, mine: str, theirs: str) -> Merged:
    return _marked(mine, theirs), ((_PREAMBLE, (base, mine, theirs)),)


def _text_of(group: Sequence[Section]) -> str:
    return "".join(one.text for one in group)
