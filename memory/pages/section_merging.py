"""Three-way merge of two versions of a page: its fields here, its lines by git (C13).

A change of one side is taken. If both changed the same lines, the text has both sides between git's
conflict marks, and the lines are reported as a conflict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory.pages.field_yaml import write_fields
from memory.pages.frontmatter import FIELD_NAMES
from memory.pages.model import GitError
from memory.pages.section_diff import is_list, read_version, value_key
from memory.pages.sections import name_of, plain_lines, split_sections
from memory.pages.word_hunks import without_repository

MERGE_MARKS = ("<<<<<<< mine", "=======", ">>>>>>> theirs")
"""The lines before, between and after the two sides of a conflict."""

_LATEST = ("updated", "parent_sha")
"""Fields that every push changes: they never conflict, and the later text is used."""


Sides = tuple[str, str, str]
"""The texts of base, mine and theirs; empty if missing."""

SectionConflict = tuple[str, Sides]
"""A part that both sides changed: the heading of its section, the name of a field, or of the text
before the first section; and its texts."""

_PREAMBLE = "text before the first"
_CONFLICTS_MAX = 127
"""The largest exit code of `git merge-file` that counts conflicts; larger ones are failures."""

Merged = tuple[str, tuple[SectionConflict, ...]]
"""A merged page, and its conflicts. It has mine of a field in conflict, and both sides of lines."""


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
    if mine == base or theirs in (base, mine):
        return (theirs if mine == base else mine), ()
    text, heading = "", _PREAMBLE
    conflicts = list[SectionConflict]()
    for base_part, own, other in _merge_lines(base, mine, theirs):
        if own == other:
            text += own
        else:
            begin, sections = split_sections(own or other or base_part)
            name = sections[0].heading if sections and not begin.strip() else heading
            conflicts.append((name or _PREAMBLE, (base_part, own, other)))
            text += _marked(own, other)
        heading = next((one.heading for one in split_sections(own)[1][::-1]), heading)
    if not conflicts and not _has_headings(text, base, mine, theirs):
        # One side leaves something open, such as a fence, which swallows the following text.
        return _conflict_whole(base, mine, theirs)
    return text, tuple(conflicts)


def _merge_lines(base: str, mine: str, theirs: str) -> list[Sides]:
    """Return the parts of a merge by `git merge-file`, in order; both sides of merged ones are the
    same. If git fails, the whole text is one part."""
    texts, size = {"mine": mine, "base": base, "theirs": theirs}, 7
    while any(sign * size in text for sign in "<|=>" for text in texts.values()):
        size += 1
    options = ["--stdout", "--quiet", "--diff3", f"--marker-size={size}"]
    with TemporaryDirectory(prefix="context-mode-") as folder:
        paths = list[str]()
        for name, text in texts.items():
            Path(folder, name).write_bytes(text.encode("utf-8", "surrogatepass"))
            options += ("-L", name)
            paths.append(f"{folder}/{name}")
        try:
            code, said, _ = without_repository().try_run("merge-file", *options, *paths)
        except GitError:
            return [(base, mine, theirs)]
    if code > _CONFLICTS_MAX:
        return [(base, mine, theirs)]
    signs = [re.escape(sign * size) for sign in "<|=>"]
    marks = (
        r"(?m)^{} mine\r?\n((?:.*\n)*?){} base\r?\n((?:.*\n)*?){}\r?\n((?:.*\n)*?){} theirs\r?\n"
    )
    found = re.split(marks.format(*signs), said.decode("utf-8", "surrogatepass"))
    parts: list[Sides] = [(found[0], found[0], found[0])]
    for own, old, other, after in zip(*(found[at::4] for at in (1, 2, 3, 4)), strict=True):
        parts += [(old, own, other), (after, after, after)]
    return parts


def _has_headings(merged: str, *sides: str) -> bool:
    """Return whether a merged text has the headings that both sides leave there or add."""
    base, mine, theirs, found = (
        Counter(name_of(one.heading) for one in split_sections(text)[1])
        for text in (*sides, merged)
    )
    return all(
        found[name] == mine[name] + (theirs[name] - base[name]) * (mine[name] != theirs[name])
        for name in base | mine | theirs | found
    )


def _marked(mine: str, theirs: str) -> str:
    ends = [text if text.endswith("\n") or not text else f"{text}\n" for text in (mine, theirs)]
    begin, middle, end = MERGE_MARKS
    return f"{begin}\n{ends[0]}{middle}\n{ends[1]}{end}\n"


def _conflict_whole(base: str, mine: str, theirs: str) -> Merged:
    return _marked(mine, theirs), ((_PREAMBLE, (base, mine, theirs)),)
