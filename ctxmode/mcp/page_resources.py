"""Pages as resources, by our address and by those that Contexo has:

    context-mode://page/retry-policy       a page of any type
    ctx://wiki/retry-policy                a concept, an entity or an analysis
    ctx://raw/2026-05-01-retries           the source that a session was distilled into
    ctx://index, ctx://tags                the pages that each push makes

Where a draft is behind what was pushed, a notice stands first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.pages import not_begun, open_pages
from ctxmode.render import redaction
from ctxmode.render.highlight import one_line
from ctxmode.render.page_texts import page_text
from memory.errors import BadInputError
from memory.pages import PAGE_TYPES, Pages, ReadPage

SCHEME = "ctx"
OWN = "context-mode://page"
LISTED_MAX = 50
MEDIA_TYPE = "text/markdown"
MADE = ("index", "tags")


def list_pages(config: Config) -> list[dict[str, Any]]:
    """Describe the pages of a project; none where none are begun, or they cannot be read."""
    if not has_drafts(str(config.project)):
        return []
    with suppress(ContextModeError), open_pages(config, author="-") as pages:
        made = [_describe(name, f"{SCHEME}://{name}") for name in MADE if pages.repository.exists]
        rows = pages.list_pages()[:LISTED_MAX]
        return [
            *made,
            *(
                _describe(one.title or one.slug, f"{OWN}/{one.type}/{quote(one.slug)}")
                for one in rows
            ),
        ]
    return []


def _describe(name: str, uri: str) -> dict[str, Any]:
    shown = redaction.redact_answer(one_line(name), {})[0]
    return {"name": shown, "uri": uri, "mimeType": MEDIA_TYPE}


def read(config: Config, uri: str) -> str:
    """Read what an address of a page stands for.

    Raises:
        ContextModeError: it is none, or there is no such page.
    """
    parts = urlsplit(uri)
    kind, name = parts.netloc, unquote(parts.path.strip("/"))
    is_own = uri.startswith(OWN)
    if is_own and name:
        return _read(config, lambda pages: pages.read(name))
    if kind in MADE and not name:
        return _read(config, lambda pages: pages.read(kind))
    if kind == "raw" and name:
        return _read(config, lambda pages: pages.read(f"source/{name}"))
    if kind == "wiki" and name:
        return _read(config, lambda pages: _find_in_wiki(pages, name))
    known = ", ".join([*(f"{SCHEME}://{one}" for one in MADE), "ctx://wiki/SLUG", "ctx://raw/SLUG"])
    raise UsageError(f"{uri!r} is no page here", f"Read one of {known}.")


def _find_in_wiki(pages: Pages, slug: str) -> ReadPage:
    for kind in PAGE_TYPES:
        if kind != "source":
            with suppress(BadInputError):
                return pages.read(f"{kind}/{slug}")
    return pages.read(slug)  # which says what is wrong


def _read(config: Config, look: Callable[[Pages], ReadPage]) -> str:
    if not has_drafts(str(config.project)):
        raise not_begun()
    with open_pages(config, author="-") as pages:
        return page_text(look(pages))
