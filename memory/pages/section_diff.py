"""What differs between two versions of a page: its fields, and its sections (C14, C15)."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory.errors import BadInputError
from memory.pages.field_yaml import Fields, Listing, Scalar, read_fields
from memory.pages.frontmatter import FIELD_NAMES, split_page
from memory.pages.model import FieldChange, SectionChange, SectionDiff
from memory.pages.section_matching import find_moved, pair_sections
from memory.pages.sections import Section, plain_lines, split_sections
from memory.pages.word_hunks import Work, word_hunks


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a page as it is compared: its fields, None if they cannot be read, and its
    Markdown, which is then all of it."""

    fields: Mapping[str, Any] | None
    body: str


def read_version(text: str | None) -> Version:
    """Read a version. One that is missing, or begins with no `---`, has no fields."""
    if not text or not text.removeprefix("\ufeff").startswith("---"):
        return Version({}, text or "")
    try:
        yaml, body = split_page(text)
        return Version(field_values(read_fields(yaml, 2)), body)
    except BadInputError:
        return Version(None, text)


def compare_texts(
    slug: str, old: str | None, new: str | None, *, from_sha: str = "", to_sha: str = ""
) -> SectionDiff:
    """Compare two versions of a page; one that is missing is an empty page.

    If the fields of one cannot be read, both are compared whole, as one text before any section.
    """
    a, b = read_version(old), read_version(new)
    if a.fields is None or b.fields is None:
        whole = _compare_preamble(old or "", new or "", Work())
        return SectionDiff(slug, from_sha, to_sha, (), whole, (), parse_fallback=True)
    left, right = split_sections(a.body), split_sections(b.body)
    work = Work()
    preamble = _compare_preamble(left.preamble, right.preamble, work)
    changes = _compare_sections(left.sections, right.sections, work)
    fields = compare_fields(a.fields, b.fields)
    return SectionDiff(slug, from_sha, to_sha, fields, preamble, changes)


def field_values(fields: Fields) -> dict[str, Any]:
    """Return the values of fields: those of known ones as the texts they are written as."""
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
    """Return a text that is the same for the same values alone; 1 and true are two."""
    return json.dumps(value, sort_keys=True)


def is_list(value: Any) -> bool:  # noqa: ANN401 - what YAML holds
    """Whether a value is a list that counts as a set."""
    return isinstance(value, list) and not any(isinstance(one, list | dict) for one in value)


def core_of(body: str) -> str:
    """Return what of a section's text is compared: without blank lines around it."""
    plain = plain_lines(body).rstrip(" \t\n")
    while plain.startswith("\n"):
        plain = plain[1:]
    return plain


def flow_of(text: str) -> str:
    """Return a text as it is when white space and the spelling of accents do not count."""
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
    old: tuple[Section, ...], new: tuple[Section, ...], work: Work
) -> tuple[SectionChange, ...]:
    pairs = pair_sections(old, new)
    moved, partner = find_moved(pairs), {one.new: one.old for one in pairs}
    found = []
    for at, section in enumerate(new):
        if at not in partner:
            found.append(SectionChange(section.heading, "added", new=core_of(section.body)))
            continue
        before = old[partner[at]]
        change = _compare_bodies(before.heading, section.heading, before.body, section.body, work)
        found.append(_with_move(change, at in moved))
    kept = {one.old for one in pairs}
    found += [
        SectionChange(one.heading, "removed", old=core_of(one.body))
        for at, one in enumerate(old)
        if at not in kept
    ]
    return tuple(found)


def _with_move(change: SectionChange, is_moved: bool) -> SectionChange:
    if not is_moved:
        return change
    return SectionChange(
        change.heading,
        change.status,
        change.old,
        change.new,
        change.old_heading,
        is_moved=True,
        is_reflowed=change.is_reflowed,
        hunks=change.hunks,
    )


def _compare_preamble(old_body: str, new_body: str, work: Work) -> SectionChange | None:
    """Compare the texts before the first section; None where there are none."""
    if not old_body and not new_body:
        return None
    change = _compare_bodies("", "", old_body, new_body, work)
    if change.status == "modified" and not (change.old and change.new):
        return SectionChange("", "added" if change.new else "removed", change.old, change.new)
    return change


def _compare_bodies(
    old_heading: str, heading: str, old_body: str, new_body: str, work: Work
) -> SectionChange:
    """Compare the texts of a section; its heading may be empty, as that of `##` is."""
    old, new = core_of(old_body), core_of(new_body)
    is_same = flow_of(old) == flow_of(new)
    is_reflowed = is_same and old != new
    if is_reflowed and not (old.isascii() and new.isascii()):
        is_reflowed = unicodedata.normalize("NFC", old) != unicodedata.normalize("NFC", new)
    if heading != old_heading and flow_of(heading) != flow_of(old_heading):
        hunks = () if is_same else word_hunks(old, new, work)
        return SectionChange(
            heading, "renamed", old, new, old_heading, is_reflowed=is_reflowed, hunks=hunks
        )
    if is_same:
        return SectionChange(heading, "unchanged", old, new, is_reflowed=is_reflowed)
    return SectionChange(heading, "modified", old, new, hunks=word_hunks(old, new, work))
