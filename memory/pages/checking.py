"""Reads drafts as they may be committed, and tells all problems of all of them at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memory.errors import BadInputError
from memory.gate import FindSecrets
from memory.pages.answers import Problem
from memory.pages.cleaning import clean_page, drop_private_parts
from memory.pages.drafts import Drafts
from memory.pages.errors import BadPagesError
from memory.pages.frontmatter import parse_page, render_page
from memory.pages.fronts import Front, describe_page
from memory.pages.model import DRAFTS_FOLDER, FOLDERS, PAGE_BYTES_MAX, Page, PageType
from memory.pages.redaction import redact
from memory.pages.sanitizing import sanitize
from memory.pages.section_merging import MERGE_MARKS
from memory.pages.slugs import slug_of
from memory.texts import size_bytes

_SHA = re.compile(r"[0-9a-f]{7,64}")
_SHOWN_MAX = 50
_MERGE_REMEDY = (
    f"write what both sides say in place of each conflict, without the lines "
    f"`{MERGE_MARKS[0]}`, `{MERGE_MARKS[1]}` and `{MERGE_MARKS[2]}`"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft that was read. `text` is that of its file, `page` has no secrets, and `committed` no
    private parts either. `front` is what `committed` says of itself."""

    path: str
    text: str
    page: Page
    committed: Page
    front: Front
    redactions: int = 0

    @property
    def type(self) -> PageType:
        return self.page.front.type

    @property
    def slug(self) -> str:
        return self.page.front.slug


def read_drafts(
    drafts: Drafts, paths: Iterable[str], find_secrets: FindSecrets
) -> tuple[list[Draft], list[Problem]]:
    """Return the drafts of paths, and what is wrong with those that cannot be read."""
    read, problems = list[Draft](), list[Problem]()
    for path in paths:
        try:
            draft = read_draft(drafts, path, find_secrets)
        except BadInputError as error:
            message = sanitize(redact(error.message, find_secrets)[0])
            problems.append(Problem(path, message, error.remedy))
        else:
            if draft is not None:
                read.append(draft)
    return read, problems


def read_draft(drafts: Drafts, path: str, find_secrets: FindSecrets) -> Draft | None:
    """Return the draft at a path; None if there is none.

    Raises:
        BadInputError: it cannot be committed.
    """
    named = slug_of(path)
    if named is None:
        message = "its name cannot be the slug of a page"
        raise BadInputError(message, "rename the file: letters, digits, `_`, `-` and `.`")
    text = drafts.read(path)
    if text is None:
        return None
    check_marks(text)
    page = parse_page(text)
    _check_place(page, *named)
    return prepare_draft(path, text, page, find_secrets)


def prepare_draft(path: str, text: str, page: Page, find_secrets: FindSecrets) -> Draft:
    """Return a page as a draft: checked, without its secrets and its private parts.

    Raises:
        BadInputError: it cannot be committed.
    """
    _check_parent(page)
    cleaned, redactions = clean_page(page, find_secrets)
    committed, public = cleaned, drop_private_parts(cleaned)
    if public is not cleaned:
        # What stood on both sides of a private part may be a secret together.
        committed, further = clean_page(public, find_secrets)
        redactions += further
    if redactions or public is not cleaned:
        committed = parse_page(render_page(committed))
    if size_bytes(text) > PAGE_BYTES_MAX:
        raise BadInputError(f"it is larger than {PAGE_BYTES_MAX >> 20} MiB", "divide it")
    return Draft(path, text, cleaned, committed, describe_page(committed), redactions)


def check_marks(text: str) -> None:
    """Refuse a text in which a merge is not finished. A line `=======` alone may be a heading's.

    Raises:
        BadInputError: a line of it is one of the marks around a conflict.
    """
    marks = (MERGE_MARKS[0], MERGE_MARKS[2])
    if any(mark in text for mark in marks):
        for number, line in enumerate(text.splitlines(), 1):
            if line.rstrip() in marks:
                message = (
                    f"line {number} is a mark of a merge that is not finished: `{line.rstrip()}`"
                )
                raise BadInputError(message, _MERGE_REMEDY)


def bad_pages(problems: Sequence[Problem]) -> BadPagesError:
    """Return the error that tells all problems."""
    lines = [f"{DRAFTS_FOLDER}/{one.path}: {one.message}" for one in problems[:_SHOWN_MAX]]
    if len(problems) > _SHOWN_MAX:
        lines.append(f"… and {len(problems) - _SHOWN_MAX} more")
    count = f"{len(problems)} pages have problems" if len(problems) > 1 else "a page has a problem"
    remedies = "; ".join(dict.fromkeys(filter(None, (one.remedy for one in problems))))
    message = "\n  ".join([f"{count}, and nothing was committed:", *lines])
    return BadPagesError(message, remedies[:1000] or "mend them, then push again", problems)


def with_fields(page: Page, **changes: object) -> Page:
    """Return a page with some of its fields changed."""
    return replace(page, front=replace(page.front, **changes))  # type: ignore[arg-type]


def _check_place(page: Page, page_type: PageType, slug: str) -> None:
    front = page.front
    if front.slug != slug:
        message = f"its field `slug` is {front.slug[:80]!r}, and its file is named {slug[:80]!r}"
        raise BadInputError(message, "make both the same")
    if front.type != page_type:
        message = f"its field `type` is {front.type}, and it lies in {FOLDERS[page_type]}"
        raise BadInputError(message, f"move it to {FOLDERS[front.type]}, or change the field")


def _check_parent(page: Page) -> None:
    parent = page.front.parent_sha
    if parent and not _SHA.fullmatch(parent):
        message = f"its field `parent_sha` is {parent[:80]!r}, which names no commit"
        raise BadInputError(message, "give the commit it was written upon, or leave it out")
