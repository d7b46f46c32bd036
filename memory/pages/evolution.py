"""What became of a page: between two of its versions, and version by version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.errors import BadInputError
from memory.pages.answers import Version
from memory.pages.blame import with_blame
from memory.pages.frontmatter import try_parse
from memory.pages.model import SectionDiff
from memory.pages.reading import find_page
from memory.pages.section_diff import compare_texts
from memory.pages.slugs import slug_of

if TYPE_CHECKING:
    from memory.pages.store import Pages


def compare_versions(  # noqa: PLR0913 - the ends of a comparison
    pages: Pages,
    name: str,
    *,
    start: str = "",
    end: str = "",
    has_blame: bool = False,
    is_local: bool = False,
) -> SectionDiff:
    """Compare two versions of a page: the last two, else those of two commits; `is_local`: the
    newest, or that of `start`, and the draft.

    Raises:
        BadInputError: there is no such page or commit.
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
            raise BadInputError(message, "compare its draft, or push it first")
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
    """Return a page's newest version compared with itself, so that each section has its blame."""
    path = find_page(pages, name)
    versions = pages.repository.versions(path)
    if not versions:
        message = f"{name[:80]!r} was not pushed yet"
        raise BadInputError(message, "push it first")
    commit, text = versions[-1]
    diff = compare_texts(_slug(path), text, text, from_sha=commit.sha, to_sha=commit.sha)
    return with_blame(diff, versions)


def list_evolution(pages: Pages, name: str, limit: int) -> tuple[Version, ...]:
    """List a page's versions with what changed in each and why, newest first."""
    path = find_page(pages, name)
    commits = pages.repository.history(path, limit + 1)
    texts = pages.repository.read_each([(path, one.sha) for one in commits])
    versions = []
    for number, commit in enumerate(commits[:limit]):
        has_older = number + 1 < len(commits)
        old = texts[number + 1] if has_older else None
        new = texts[number]
        page = None if new is None else try_parse(new)
        diff = compare_texts(
            _slug(path),
            old,
            new,
            from_sha=commits[number + 1].sha if has_older else "",
            to_sha=commit.sha,
        )
        why = page.front.reasoning_summary if page else ""
        versions.append(Version(commit, why, diff, is_removal=new is None))
    return tuple(versions)


def _slug(path: str) -> str:
    named = slug_of(path)
    return named[1] if named else path
