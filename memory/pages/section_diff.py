"""Differences between two versions of a page: its fields and its sections (C14, C15).

They are written as text, and as JSON with Contexo's names (C17).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import Match
from typing import Any

from memory.errors import BadInputError
from memory.pages.cleaning import sanitize
from memory.pages.field_yaml import Fields, Listing, Scalar, read_fields
from memory.pages.frontmatter import FIELD_NAMES, split_page
from memory.pages.model import Commit, FieldChange, SectionChange, SectionDiff, Status
from memory.pages.sections import Section, find_moved, pair_sections, plain_lines, split_sections
from memory.pages.word_hunks import match_each, word_hunks
from memory.texts import write_time

MARKS = {"unchanged": "=", "added": "+", "removed": "-", "modified": "~", "renamed": "~>"}
LINES_MAX = 60
"""Most changed lines of a section that are shown; the others are counted."""

_LINE_CHARS = 400
_AGES = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def diff_text(diff: SectionDiff, *, now: float) -> str:
    """Return a difference as text: the changes, and the changed lines of each section."""
    return sanitize("\n".join(_write(diff, now)) + "\n")


def diff_json(diff: SectionDiff) -> dict[str, Any]:
    """Return a difference as JSON: Contexo's `SectionDiff` with additional fields."""
    found: dict[str, Any] = {
        "slug": diff.slug,
        "from_sha": diff.from_sha,
        "to_sha": diff.to_sha,
        "frontmatter": _fields_json(diff.fields),
        "sections": [_section_json(one) for one in diff.sections],
    }
    if diff.preamble:
        found["preamble"] = {**_section_json(diff.preamble), "heading": "_preamble"}
    if diff.parse_fallback:
        found["parse_fallback"] = True
    return found


def age_text(seconds: float) -> str:
    """Return an age in its largest whole unit."""
    for size, unit in _AGES:
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def _write(diff: SectionDiff, now: float) -> Iterator[str]:
    yield f"diff: {diff.slug}   {diff.from_sha[:7] or 'none'}..{diff.to_sha[:7] or 'draft'}"
    if diff.parse_fallback:
        yield "(the fields of a side cannot be read; the page is compared whole)"
    # Each push writes its parent commit, which is not informative.
    if fields := [one for one in diff.fields if one.field != "parent_sha"]:
        yield "\nFrontmatter"
        for change in fields:
            yield from _write_field(change)
    lines = iter(_changed_lines(_list_changes(diff)))
    if diff.preamble:
        changed = next(lines)
        if diff.preamble.status != "unchanged" or diff.preamble.is_reflowed:
            yield "\nPreamble"
            yield from _write_section(diff.preamble, "preamble", changed, now)
    if diff.sections:
        yield "\nSections"
        for section, changed in zip(diff.sections, lines, strict=True):
            yield from _write_section(section, section.heading or "(no heading)", changed, now)


def _write_field(change: FieldChange) -> Iterator[str]:
    if change.added or change.removed:
        yield from (f"  + {change.field}: {_one_line(value)}" for value in change.added)
        yield from (f"  - {change.field}: {_one_line(value)}" for value in change.removed)
    elif change.old is None:
        yield f"  + {change.field}: {_one_line(change.new)}"
    elif change.new is None:
        yield f"  - {change.field}: {_one_line(change.old)}"
    else:
        yield f"  ~ {change.field}"
        yield f"      - {_one_line(change.old)}"
        yield f"      + {_one_line(change.new)}"


def _write_section(
    change: SectionChange, name: str, lines: Sequence[str], now: float
) -> Iterator[str]:
    notes = [f"renamed from “{change.old_heading}”"] if change.status == "renamed" else []
    notes += ["moved"] if change.is_moved else []
    notes += ["reflowed"] if change.is_reflowed else []
    if lines:
        what = change.status if change.status in ("added", "removed") else "changed"
        notes.append(f"{len(lines)} line{'s' * (len(lines) != 1)} {what}")
    told = f" ({', '.join(notes)})" if notes else ""
    yield f"  {MARKS[change.status]} {name}{told}{_write_blame(change, now)}"
    yield from (f"      {line}" for line in lines[:LINES_MAX])
    if len(lines) > LINES_MAX:
        yield f"      … {len(lines) - LINES_MAX} more lines"


def _changed_lines(changes: Sequence[SectionChange]) -> list[list[str]]:
    """Return for each section the lines that only one side has, shortened to their differences."""
    sides = [
        (one.old.split("\n") if one.old else [], one.new.split("\n") if one.new else [])
        if one.status in ("added", "removed") or _has_hunks(one)
        else ([], [])
        for one in changes
    ]
    return [
        list(_unmatched_lines(*lines, runs))
        for lines, runs in zip(sides, match_each(sides), strict=True)
    ]


def _unmatched_lines(old: list[str], new: list[str], runs: Sequence[Match]) -> Iterator[str]:
    at = last = 0
    for first, start, size in [*runs, (len(old), len(new), 0)]:
        gone, came = old[at:first], new[last:start]
        if len(gone) == len(came):
            pairs = [_shorten(one, other) for one, other in zip(gone, came, strict=True)]
            gone, came = [one for one, _ in pairs], [other for _, other in pairs]
        yield from (f"- {line[:_LINE_CHARS]}" for line in gone)
        yield from (f"+ {line[:_LINE_CHARS]}" for line in came)
        at, last = first + size, start + size


def _shorten(old: str, new: str) -> tuple[str, str]:
    """Return two long lines, starting shortly before their first difference."""
    if max(len(old), len(new)) <= _LINE_CHARS:
        return old, new
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    cut = max(same - 60, 0)
    return (f"…{old[cut:]}", f"…{new[cut:]}") if cut else (old, new)


def _write_blame(change: SectionChange, now: float) -> str:
    notes = []
    if change.introduced_by:
        notes.append(f"introduced by {_name(change.introduced_by, now)}")
    if change.heading_since and change.heading_since != change.introduced_by:
        notes.append(f"heading since {_name(change.heading_since, now)}")
    if change.changed_by and change.changed_by != change.introduced_by:
        notes.append(f"changed by {_name(change.changed_by, now)}")
    return f" — {', '.join(notes)}" if notes else ""


def _name(commit: Commit, now: float) -> str:
    return f"{commit.sha[:7]} ({commit.author}, {age_text(now - commit.at)})"


def _one_line(value: Any) -> str:  # noqa: ANN401 - what YAML holds
    return " ".join(str(value).split())[: _LINE_CHARS * 4]


def _fields_json(changes: tuple[FieldChange, ...]) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in changes:
        is_set = bool(one.added or one.removed)
        for value in one.added if is_set else (one.new,) * (one.old is None):
            found.setdefault("added", []).append({"field": one.field, "to": value})
        for value in one.removed if is_set else (one.old,) * (one.new is None):
            found.setdefault("removed", []).append({"field": one.field, "from": value})
        if not is_set and one.old is not None and one.new is not None:
            row = {"field": one.field, "from": one.old, "to": one.new}
            found.setdefault("changed", []).append(row)
    return found


def _section_json(change: SectionChange) -> dict[str, Any]:
    is_shown = change.status != "unchanged"
    found = {
        "heading": change.heading,
        "old_heading": change.old_heading,
        "status": change.status,
        "from": change.old if is_shown else "",
        "to": change.new if is_shown else "",
        "moved": change.is_moved,
        "reflowed": change.is_reflowed,
        "hunks": [{"mark": mark, "text": text} for mark, text in change.hunks],
        "introduced_by": _commit_json(change.introduced_by),
        "heading_since": _commit_json(change.heading_since),
        "changed_by": _commit_json(change.changed_by),
    }
    return {name: value for name, value in found.items() if value or name in ("heading", "status")}


def _commit_json(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    found = {
        "sha": commit.sha,
        "author": commit.author,
        "time": write_time(commit.at),
        "message": commit.subject,
        "agent": commit.agent,
        "session": commit.session,
    }
    return {name: value for name, value in found.items() if value}


Version = tuple[Mapping[str, Any] | None, str]
"""A version of a page for comparison: its fields, or None if unreadable, and its Markdown, which is
then the whole text."""


def read_version(text: str | None) -> Version:
    """Read a version. One that is missing or does not begin with `---` has no fields."""
    if not text or not text.removeprefix("\ufeff").startswith("---"):
        return {}, text or ""
    try:
        yaml, body = split_page(text)
        return field_values(read_fields(yaml, 2)), body
    except BadInputError:
        return None, text


def compare_texts(
    slug: str, old: str | None, new: str | None, *, from_sha: str = "", to_sha: str = ""
) -> SectionDiff:
    """Compare two versions of a page; a missing one is an empty page. If the fields of one cannot
    be read, both are compared whole, as one text before any section."""
    return add_hunks([compare_sections(slug, old, new, from_sha=from_sha, to_sha=to_sha)])[0]


def compare_sections(
    slug: str, old: str | None, new: str | None, *, from_sha: str = "", to_sha: str = ""
) -> SectionDiff:
    """Compare two versions of a page like `compare_texts`, without the words of its sections."""
    (before, old_body), (after, new_body) = read_version(old), read_version(new)
    if before is None or after is None:
        whole = _compare_preamble(old or "", new or "")
        return SectionDiff(slug, from_sha, to_sha, (), whole, (), parse_fallback=True)
    (old_begin, left), (new_begin, right) = split_sections(old_body), split_sections(new_body)
    preamble = _compare_preamble(old_begin, new_begin)
    changes = _compare_sections(left, right)
    fields = compare_fields(before, after)
    return SectionDiff(slug, from_sha, to_sha, fields, preamble, changes)


def add_hunks(diffs: Sequence[SectionDiff]) -> list[SectionDiff]:
    """Return differences with the words of their changed sections, all found at once."""
    changed = [one for diff in diffs for one in _list_changes(diff) if _has_hunks(one)]
    found = iter(word_hunks([(one.old, one.new) for one in changed]))

    def fill(change: SectionChange) -> SectionChange:
        return replace(change, hunks=next(found)) if _has_hunks(change) else change

    return [
        replace(
            diff,
            preamble=diff.preamble and fill(diff.preamble),
            sections=tuple(map(fill, diff.sections)),
        )
        for diff in diffs
    ]


def _list_changes(diff: SectionDiff) -> Sequence[SectionChange]:
    return [*([diff.preamble] if diff.preamble else []), *diff.sections]


def _has_hunks(change: SectionChange) -> bool:
    """Return whether a section has other words than before."""
    return change.status == "modified" or (
        change.status == "renamed" and flow_of(change.old) != flow_of(change.new)
    )


def field_values(fields: Fields) -> dict[str, Any]:
    """Return the values of fields; known ones as the texts in which they are written."""
    found: dict[str, Any] = {}
    for name, item in fields.items.items():
        if name in FIELD_NAMES and isinstance(item, Scalar):
            found[name] = None if item.value is None else item.text
        elif name in FIELD_NAMES and isinstance(item, Listing):
            found[name] = [one.text if isinstance(one, Scalar) else one.value for one in item.items]
        else:
            found[name] = item.value
    return found


def compare_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Return the fields that differ: known ones in their order, then the others."""
    names = dict.fromkeys([*FIELD_NAMES, *new, *old])
    found = (_compare_field(name, old.get(name), new.get(name)) for name in names)
    return tuple(one for one in found if one)


def value_key(value: Any) -> str:  # noqa: ANN401 - what YAML holds
    """Return a text that is the same only for equal values; 1 and true differ."""
    return json.dumps(value, sort_keys=True)


def is_list(value: Any) -> bool:  # noqa: ANN401 - what YAML holds
    """Return whether a value is a list that counts as a set."""
    return isinstance(value, list) and not any(isinstance(one, list | dict) for one in value)


def core_of(body: str) -> str:
    """Return the compared part of a section's text: without blank lines around it."""
    plain = plain_lines(body).rstrip(" \t\n")
    while plain.startswith("\n"):
        plain = plain[1:]
    return plain


def flow_of(text: str) -> str:
    """Return a text without differences of white space and of the spelling of accents."""
    flow = " ".join(text.split())
    return flow if flow.isascii() else unicodedata.normalize("NFC", flow)


def _compare_field(name: str, old: Any, new: Any) -> FieldChange | None:  # noqa: ANN401
    if (is_list(old) or old is None) and (is_list(new) or new is None) and not old is new is None:
        before = {value_key(one): one for one in old or ()}
        after = {value_key(one): one for one in new or ()}
        added = tuple(one for key, one in after.items() if key not in before)
        removed = tuple(one for key, one in before.items() if key not in after)
        return FieldChange(name, added=added, removed=removed) if added or removed else None
    if value_key(old) == value_key(new) or (not old and not new and old != 0 and new != 0):
        return None
    return FieldChange(name, old, new)


def _compare_sections(
    old: tuple[Section, ...], new: tuple[Section, ...]
) -> tuple[SectionChange, ...]:
    pairs = pair_sections(old, new)
    moved, partner = find_moved(pairs), {new_at: old_at for old_at, new_at in pairs}
    found = []
    for at, section in enumerate(new):
        if at not in partner:
            found.append(SectionChange(section.heading, "added", new=core_of(section.body)))
            continue
        before = old[partner[at]]
        change = _compare_bodies(before.heading, section.heading, before.body, section.body)
        found.append(replace(change, is_moved=True) if at in moved else change)
    kept = {old_at for old_at, _ in pairs}
    found += [
        SectionChange(one.heading, "removed", old=core_of(one.body))
        for at, one in enumerate(old)
        if at not in kept
    ]
    return tuple(found)


def _compare_preamble(old_body: str, new_body: str) -> SectionChange | None:
    """Compare the texts before the first section; None if both are empty."""
    if not old_body and not new_body:
        return None
    change = _compare_bodies("", "", old_body, new_body)
    if change.status == "modified" and not (change.old and change.new):
        return SectionChange("", "added" if change.new else "removed", change.old, change.new)
    return change


def _compare_bodies(old_heading: str, heading: str, old_body: str, new_body: str) -> SectionChange:
    """Compare the texts of a section; its heading may be empty, as in `##`."""
    old, new = core_of(old_body), core_of(new_body)
    is_same = flow_of(old) == flow_of(new)
    is_reflowed = is_same and unicodedata.normalize("NFC", old) != unicodedata.normalize("NFC", new)
    if heading != old_heading and flow_of(heading) != flow_of(old_heading):
        return SectionChange(heading, "renamed", old, new, old_heading, is_reflowed=is_reflowed)
    status: Status = "unchanged" if is_same else "modified"
    return SectionChange(heading, status, old, new, is_reflowed=is_reflowed)
