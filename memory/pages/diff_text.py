"""A difference of pages as people read it, and as JSON with Contexo's names (C17)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from memory.pages.model import Commit, FieldChange, SectionChange, SectionDiff
from memory.pages.sanitizing import sanitize
from memory.pages.word_hunks import match_items

MARKS = {"unchanged": "=", "added": "+", "removed": "-", "modified": "~", "renamed": "~>"}
LINES_MAX = 60
"""So many changed lines of a section are shown; the rest is counted."""

_LINE_CHARS = 400
_AGES = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def diff_text(diff: SectionDiff, *, now: float) -> str:
    """Return a difference as text: what changed, and the changed lines of each section."""
    return sanitize("\n".join(_write(diff, now)) + "\n")


def diff_json(diff: SectionDiff) -> dict[str, Any]:
    """Return a difference as JSON: Contexo's `SectionDiff`, and what ours knows beyond it."""
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
    # Each push writes the commit that it stands upon, which tells a reader nothing.
    if fields := [one for one in diff.fields if one.field != "parent_sha"]:
        yield "\nFrontmatter"
        for change in fields:
            yield from _write_field(change)
    if diff.preamble and (diff.preamble.status != "unchanged" or diff.preamble.is_reflowed):
        yield "\nPreamble"
        yield from _write_section(diff.preamble, "preamble", now)
    if diff.sections:
        yield "\nSections"
        for section in diff.sections:
            yield from _write_section(section, section.heading or "(no heading)", now)


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


def _write_section(change: SectionChange, name: str, now: float) -> Iterator[str]:
    lines = list(_changed_lines(change))
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


def _changed_lines(change: SectionChange) -> Iterator[str]:
    """Yield the lines that only one side has, shortened to where they differ."""
    if change.status == "unchanged":
        return
    old = change.old.split("\n") if change.old else []
    new = change.new.split("\n") if change.new else []
    if change.status == "renamed" and not change.hunks:
        return
    runs = match_items([line.strip() for line in old], [line.strip() for line in new])
    at = last = 0
    for first, start, size in [*((r.old, r.new, r.size) for r in runs), (len(old), len(new), 0)]:
        gone, came = old[at:first], new[last:start]
        if len(gone) == len(came):
            pairs = [_shorten(one, other) for one, other in zip(gone, came, strict=True)]
            gone, came = [one for one, _ in pairs], [other for _, other in pairs]
        yield from (f"- {line[:_LINE_CHARS]}" for line in gone)
        yield from (f"+ {line[:_LINE_CHARS]}" for line in came)
        at, last = first + size, start + size


def _shorten(old: str, new: str) -> tuple[str, str]:
    """Return two long lines from a little before the first difference on."""
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
        "hunks": [{"mark": one.mark, "text": one.text} for one in change.hunks],
        "introduced_by": _commit_json(change.introduced_by),
        "heading_since": _commit_json(change.heading_since),
        "changed_by": _commit_json(change.changed_by),
    }
    return {name: value for name, value in found.items() if value or name in ("heading", "status")}


def _commit_json(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    time = datetime.fromtimestamp(commit.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = {
        "sha": commit.sha,
        "author": commit.author,
        "time": time,
        "message": commit.subject,
        "agent": commit.agent,
        "session": commit.session,
    }
    return {name: value for name, value in found.items() if value}
