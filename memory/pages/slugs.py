"""The names of pages, and where a page of each type lies."""

from __future__ import annotations

import re

from memory.errors import BadInputError
from memory.pages.model import FOLDERS, SLUG_CHARS_MAX, PageType

_SLUG = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{SLUG_CHARS_MAX - 1}}}")
_SUFFIX = ".md"


def is_slug(text: str) -> bool:
    """Whether a text can name a page."""
    return bool(_SLUG.fullmatch(text)) and ".." not in text


def check_slug(slug: str) -> str:
    """Return a slug that can name a page.

    Raises:
        BadInputError: it cannot.
    """
    if not is_slug(slug):
        raise BadInputError(
            f"{slug[:80]!r} cannot be the slug of a page",
            f"use 1 to {SLUG_CHARS_MAX} of A-Z, a-z, 0-9, `_`, `-` and `.`, beginning with a "
            "letter, a digit or `_`, without `..`",
        )
    return slug


def page_path(page_type: PageType, slug: str) -> str:
    """Return where a page lies, below `.contexo/` and in the repository alike.

    Raises:
        BadInputError: there is no such type, or the slug cannot name a page.
    """
    folder = FOLDERS.get(page_type)
    if folder is None:
        message = f"{page_type[:80]!r} is no type of a page"
        raise BadInputError(message, f"use {', '.join(sorted(FOLDERS))}")
    return f"{folder}/{check_slug(slug)}{_SUFFIX}"


def slug_of(path: str) -> tuple[PageType, str] | None:
    """Return the type and the slug of the page at a path; None if none can lie there."""
    folder, _, name = path.rpartition("/")
    slug = name.removesuffix(_SUFFIX)
    if slug == name or not is_slug(slug):
        return None
    for page_type, below in FOLDERS.items():
        if folder == below:
            return page_type, slug
    return None
