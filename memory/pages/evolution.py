"""Comparison of a page's versions, and the author of each section across renames (C16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.errors import BadInputError
from memory.pages.frontmatter import try_parse
from memory.pages.model import Commit, SectionChange, SectionDiff, Version, slug_of
from memory.pages.reading import find_page
from memory.pages.section_diff import (
    add_hunks,
    compare_sections,
    compare_texts,
    core_of,
    flow_of,
    read_version,
)
from memory.pages.sections import Section, name_of, pair_sections, split_sections

if TYPE_CHECKING:
    from memory.pages.store import Pages

EVOLUTION_MAX = 20

Blamed = tuple[SectionChange, ...]
"""The sections of a version with their authors."""


def blame_sections(versions: Sequence[tuple[Commit, str]]) -> list[Blamed]:
    """Return the sections of each version with their authors; the oldest version comes first. White
    space does not count. A version with unreadable fields has those of the one before."""
    found: list[Blamed] = []
    known: Blamed = ()
    before: tuple[Section, ...] = ()
    for commit, text in versions:
        fields, body = read_version(text)
        if fields is not None:
            _, sections = split_sections(body)
            partners = {at: known[place] for place, at in pair_sections(before, sections)}
            known = tuple(
                _carry_on(partners.get(at), section, commit) for at, section in enumerate(sections)
            )
            before = sections
        found.append(known)
    return found


def with_blame(diff: SectionDiff, versions: Sequence[tuple[Commit, str]]) -> SectionDiff:
    """Return a difference with the authors of its sections. Sections of the new side are looked up
    in its commit. If the new side is a draft, the authors come from the old side."""
    at = {commit.sha: place for place, (commit, _) in enumerate(versions)}
    blamed = blame_sections(versions)
    from_at = at.get(diff.from_sha) if diff.from_sha else len(versions) - 1
    to_at = at.get(diff.to_sha)
    before, after = (
        [*blamed[one]] if one is not None and blamed else [] for one in (from_at, to_at)
    )
    return replace(diff, sections=tuple(_annotate(one, before, after) for one in diff.sections))


def _annotate(
    change: SectionChange, before: list[SectionChange], after: list[SectionChange]
) -> SectionChange:
    if change.status != "removed":
        found = _take(after, change.heading, change.new)
        if found:
            return replace(
                change,
                introduced_by=found.introduced_by,
                heading_since=found.heading_since,
                changed_by=found.changed_by,
            )
    if change.status == "added":
        return change
    found = _take(before, change.old_heading or change.heading, change.old)
    if not found:
        return change
    is_edited = change.status == "modified" or bool(change.hunks)
    return replace(
        change,
        introduced_by=found.introduced_by,
        heading_since=None if change.status == "renamed" else found.heading_since,
        changed_by=None if is_edited else found.changed_by,
    )


def _take(blames: list[SectionChange], heading: str, body: str) -> SectionChange | None:
    for place, one in enumerate(blames):
        if name_of(one.heading) == name_of(heading) and one.new == body:
            return blames.pop(place)
    return None


def _carry_on(known: SectionChange | None, section: Section, commit: Commit) -> SectionChange:
    body = core_of(section.body)
    if known is None:
        known = SectionChange(section.heading, "unchanged", new=body)
        return replace(known, introduced_by=commit, heading_since=commit, changed_by=commit)
    is_renamed = name_of(known.heading) != name_of(section.heading)
    is_changed = known.new != body and flow_of(known.new) != flow_of(body)
    return replace(
        known,
        heading=section.heading,
        new=body,
        heading_since=commit if is_renamed else known.heading_since,
        changed_by=commit if is_changed else known.changed_by,
    )


def compare_versions(  # noqa: PLR0913 - the ends of a comparison
    pages: Pages,
    name: str,
    *,
    start: str = "",
    end: str = "",
    has_blame: bool = False,
    is_local: bool = False,
) -> SectionDiff:
    """Compare two versions of a page: the last two, or those of two commits. With `is_local`,
    compare the newest, or that of `start`, with the draft.

    Raises:
        BadInputError: the page or a commit does not exist.
    """
    path = find_page(pages, name)
    slug = _slug(path)
    commits = pages.repository.history(path, 2, at=pages.repository.resolve(end) if end else "")
    if is_local:
        from_sha = pages.repository.resolve(start) if start else (commits[0].sha if commits else "")
        old = pages.repository.read(path, from_sha) if from_sha else None
        diff = compare_texts(slug, old, pages.drafts.read(path), from_sha=from_sha)
    else:
        if not commits:
            message = f"{name[:80]!r} was not pushed yet"
            raise BadInputError(message, "Compare its draft, or push it first.")
        to_sha = pages.repository.resolve(end) if end else commits[0].sha
        if start:
            from_sha = pages.repository.resolve(start)
        else:
            from_sha = commits[1].sha if len(commits) > 1 else ""
        wanted = [(path, to_sha), *([(path, from_sha)] if from_sha else [])]
        new, *rest = pages.repository.read_each(wanted)
        old = rest[0] if rest else None
        diff = compare_texts(slug, old, new, from_sha=from_sha, to_sha=to_sha)
    if not has_blame:
        return diff
    versions = pages.repository.versions(path)
    return with_blame(diff, versions)


def blame_page(pages: Pages, name: str) -> SectionDiff:
    """Return the comparison of a page's newest version with itself, so that each section has its
    blame."""
    path = find_page(pages, name)
    versions = pages.repository.versions(path)
    if not versions:
        message = f"{name[:80]!r} was not pushed yet"
        raise BadInputError(message, "Push it first.")
    commit, text = versions[-1]
    diff = compare_texts(_slug(path), text, text, from_sha=commit.sha, to_sha=commit.sha)
    return with_blame(diff, versions)


def list_evolution(pages: Pages, name: str, limit: int = EVOLUTION_MAX) -> tuple[Version, ...]:
    """List the versions of a page with their changes and reasons, newest first."""
    path = find_page(pages, name)
    commits = pages.repository.history(path, limit + 1)
    texts = pages.repository.read_each([(path, one.sha) for one in commits])
    shas = [*(one.sha for one in commits), ""]
    diffs = [
        compare_sections(_slug(path), old, new, from_sha=from_sha, to_sha=to_sha)
        for old, new, from_sha, to_sha in zip(
            [*texts[1:], None], texts[:limit], shas[1:], shas, strict=False
        )
    ]
    versions = []
    for commit, new, diff in zip(commits, texts, add_hunks(diffs), strict=False):
        page = None if new is None else try_parse(new)
        why = page.front.reasoning_summary if page else ""
        versions.append(Version(commit, why, diff, is_removal=new is None))
    return tuple(versions)


def _slug(path: str) -> str:
    named = slug_of(path)
    return named[1] if named else path
