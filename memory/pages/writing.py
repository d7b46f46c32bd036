"""Writing of drafts: from given texts, and from newer versions if they were not edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory.errors import BadInputError
from memory.pages.drafts import check_marks, prepare_draft, with_fields
from memory.pages.frontmatter import FIELD_NAMES, parse_page, render_page, try_parse
from memory.pages.model import (
    PAGE_TYPES,
    SCHEMA,
    DraftState,
    Frontmatter,
    Page,
    Written,
    check_slug,
    page_path,
    slug_of,
)
from memory.pages.reading import compare_all, name_paths
from memory.texts import write_time

if TYPE_CHECKING:
    from memory.pages.store import Pages

NO_FIELDS: Mapping[str, Any] = {}
PUSHED: tuple[DraftState, ...] = ("unchanged", "behind", "removed")
"""States of drafts whose text is in a commit."""


def write_draft(  # noqa: PLR0913 - what is said of a page
    pages: Pages,
    slug: str,
    text: str = "",
    of_type: str = "",
    fields: Mapping[str, Any] = NO_FIELDS,
    *,
    agent: str = "",
    is_forced: bool = False,
) -> tuple[Written, str]:
    """Write a page as a draft, without its secrets; return it, and the commit it is based on.
    `text` is a whole page with frontmatter, or only its Markdown; if missing, the page keeps its
    own. `fields` override the frontmatter, which overrides the draft's or the repository's fields.
    A draft with unpushed edits is replaced only if `is_forced`.

    Raises:
        BadInputError: it is not a valid page, or its draft has unpushed edits.
    """
    pages.require_ready()
    check_marks(text)
    given = parse_page(text) if text.lstrip("\ufeff").startswith("---\n") else None
    of_type = of_type or str(fields.get("type", ""))
    path, old, draft = _find_old(pages, slug, of_type, given)
    named = slug_of(path)
    assert named is not None
    front = _join_fields(pages, given, draft, old)
    front |= {"agent": agent} if agent else {}
    front |= {str(name): _check_field(str(name), value) for name, value in fields.items()}
    front |= {"schema": SCHEMA, "slug": named[1], "type": named[0]}
    kept = "" if old is None else old.body
    body = given.body if given else (text if text.strip() else kept)
    if not is_forced and (draft is None or draft.body != body):
        check_replaceable(pages, path)
    unknown = {name: value for name, value in front.items() if name not in FIELD_NAMES}
    known = {name: value for name, value in front.items() if name in FIELD_NAMES}
    page = Page(Frontmatter(**known, unknown=unknown), body)
    written = render_page(page)
    checked = prepare_draft(path, written, parse_page(written), pages.find_secrets)
    pages.drafts.write(path, render_page(checked.page))
    parent = checked.page.front.parent_sha
    return Written(path, named[1], named[0], old is None, checked.redactions), parent


def check_replaceable(pages: Pages, path: str) -> None:
    """Refuse to lose a draft's text that is in no commit.

    Raises:
        BadInputError: the draft was edited since it was pushed, or cannot be read.
    """
    if path not in pages.drafts.list_paths():
        return
    states = [one.state for one in compare_all(pages, [path])]
    if states and states[0] in PUSHED:
        return
    named = slug_of(path)
    name = path if named is None else f"{named[0]}/{named[1]}"
    raise BadInputError(
        f"the draft of {name} has edits that were never pushed",
        f"Push them first (`context-mode pages push {name}`), or discard them: add --force "
        '(in ctx_pages "force": true).',
    )


def refresh_drafts(pages: Pages, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Update drafts that were not edited; return their paths, and those of the edited ones."""
    fresh, diverged = [], []
    for one in compare_all(pages, [path for path in paths if slug_of(path)]):
        path = one.draft.path
        if one.state == "diverged":
            diverged.append(path)
        elif one.state == "removed" and pages.drafts.remove(path):
            fresh.append(path)
        elif one.state == "behind":
            text, last = pages.repository.read(path), pages.repository.last_commit(path)
            page = None if text is None else try_parse(text)
            if page is not None and last is not None:
                with suppress(BadInputError):
                    pages.drafts.write(path, render_page(with_fields(page, parent_sha=last.sha)))
                    fresh.append(path)
    return tuple(fresh), tuple(diverged)


def _find_old(
    pages: Pages, slug: str, of_type: str, given: Page | None
) -> tuple[str, Page | None, Page | None]:
    """Return the path of the page, its last version and its draft."""
    slug = slug or (given.front.slug if given else "")
    page_type = of_type or (given.front.type if given else "")
    if page_type and page_type not in PAGE_TYPES:
        message = f"unknown page type {page_type[:80]!r}"
        raise BadInputError(message, f"Choose from: {', '.join(PAGE_TYPES)}.")
    if page_type and "/" not in slug:
        candidates = [page_path(page_type, check_slug(slug))]
    else:
        candidates = name_paths(slug)
    drafts = [(path, pages.drafts.read(path)) for path in candidates]
    texts = pages.repository.read_each([(path, "") for path in candidates])
    there = [
        (path, draft, text)
        for (path, draft), text in zip(drafts, texts, strict=True)
        if draft is not None or text is not None
    ]
    if len(there) != 1 and len(candidates) > 1:
        message = "several pages have this slug" if there else "a new page needs its type"
        raise BadInputError(message, f"Give its type. Choose from: {', '.join(PAGE_TYPES)}.")
    path, draft, text = there[0] if there else (candidates[0], None, None)
    parsed = try_parse(draft) if draft is not None else None
    return path, parsed or (try_parse(text) if text is not None else None), parsed


def _join_fields(
    pages: Pages, given: Page | None, draft: Page | None, old: Page | None
) -> dict[str, Any]:
    now = write_time(pages.clock())
    front: dict[str, Any] = {"author": pages.author or "unknown", "created": now}
    for page in (old, given):
        if page is not None:
            front |= _told(page)
    # A page without a draft is based on no known version.
    parent = given.front.parent_sha if given else ""
    front["parent_sha"] = parent or (draft.front.parent_sha if draft else "")
    return {**front, "updated": now}


def _told(page: Page) -> dict[str, Any]:
    told = {name: getattr(page.front, name) for name in FIELD_NAMES}
    return {**{name: value for name, value in told.items() if value}, **page.front.unknown}


def _check_field(name: str, value: object) -> object:
    if name in ("sources", "related", "tags"):
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not all(isinstance(o, str) for o in values):
            message = f"the field {name} must be a list of texts"
            raise BadInputError(message, f'Write {name}: ["one"].')
        return tuple(values)
    if name in FIELD_NAMES and not isinstance(value, str):
        raise BadInputError(f"the field {name} must be a text", f'Write "{name}": "…".')
    if isinstance(value, Mapping | list | str | int | float | bool) or value is None:
        return value
    raise BadInputError(f"cannot write the field {name[:80]}", "Give a text or a list.")
