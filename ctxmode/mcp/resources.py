"""Stored outputs, sources, sessions and pages as resources that a client can list and read.

    context-mode://output/out-3fa9c1d2     both streams of one run
    context-mode://source/17               one version of one source
    context-mode://source/17?start=0&end=65536
    context-mode://session/claude_code:9e2434f3?start=40&end=80
    context-mode://page/retry-policy       and ctx://wiki/…, see below

A range is in bytes, for a session in messages. Without a range the beginning is read, up to
READ_BYTES_MAX; a last line lists the missing range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

import trio

import kb
from base.wording import inflect
from ctxmode.config.file_names import has_drafts
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp.client import Client
from ctxmode.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    STATELESS_REVISIONS,
    ProtocolError,
)
from ctxmode.operations.library import Library
from ctxmode.operations.pages import not_begun, open_pages
from ctxmode.operations.session_answers import read_part
from ctxmode.operations.session_choice import list_owners, refuse_if_off
from ctxmode.operations.sessions import find_session, list_notices, open_sessions
from ctxmode.render import redaction
from ctxmode.render.highlight import one_line
from ctxmode.render.page_texts import page_text
from ctxmode.render.passages import STALE
from memory.errors import BadInputError
from memory.pages import PAGE_TYPES, Pages, ReadPage
from memory.sessions import Session, reading

SESSIONS_MAX = 20
SESSION_BYTES_MAX = 256 * 1024


def list_sessions(config: Config, holder: str) -> list[dict[str, Any]]:
    """Describe the latest sessions; empty if they are off, or cannot be read."""
    with suppress(ContextModeError):
        refuse_if_off(config)
        if config.sessions_file.exists():
            with open_sessions(config) as store, store.database.reading() as db:
                owners = list_owners(holder)
                found = reading.list_sessions(db, limit=SESSIONS_MAX, owners=owners)
            return [_describe_session(session) for session in found]
    return []


def read_session(config: Config, wanted: str, given: tuple[int, int | None], holder: str) -> str:
    """Read the messages between two sequence numbers, both included. A last line gives the number
    of missing ones. Raise ContextModeError if the session is unknown, or sessions are off."""
    first, last = given
    refuse_if_off(config)
    with open_sessions(config) as store:
        session = find_session(store, wanted, list_owners(holder))
        shown, next_first, left = read_part(store, session, first, last, SESSION_BYTES_MAX)
        text = "\n".join((store.clean(shown), *list_notices(config)))
    if not next_first:
        return text
    end = "" if last is None else f"&end={last}"
    more = f"{_session_uri(session)}?start={next_first}{end}"
    return f"{text}\n[{inflect(left, 'message')} more: {more}]"


def _session_uri(session: Session) -> str:
    return f"context-mode://session/{quote(session.id, safe=':/')}"


def _describe_session(session: Session) -> dict[str, Any]:
    title = one_line(session.title) or session.id
    return {
        "name": redaction.redact_answer(title, {})[0],
        "uri": _session_uri(session),
        "mimeType": "text/plain",
    }


#     context-mode://page/retry-policy       a page of any type
#     ctx://wiki/retry-policy                a concept, an entity or an analysis
#     ctx://raw/2026-05-01-retries           the source that a session was distilled into
#     ctx://index, ctx://tags                the pages that each push generates
# If a draft is older than the pushed version, the text begins with a notice.

PAGE_SCHEME = "ctx"
PAGE_ADDRESS = "context-mode://page"
PAGES_MAX = 50
PAGE_TYPE = "text/markdown"
MADE_PAGES = ("index", "tags")


def list_pages(config: Config) -> list[dict[str, Any]]:
    """Describe the pages of a project; empty if they are not set up, or cannot be read."""
    if not has_drafts(str(config.project)):
        return []
    with suppress(ContextModeError), open_pages(config, author="-") as pages:
        made = [
            _describe_page(name, f"{PAGE_SCHEME}://{name}")
            for name in MADE_PAGES
            if pages.repository.exists
        ]
        rows = pages.list_pages()[:PAGES_MAX]
        return [
            *made,
            *(
                _describe_page(
                    one.title or one.slug, f"{PAGE_ADDRESS}/{one.type}/{quote(one.slug)}"
                )
                for one in rows
            ),
        ]
    return []


def _describe_page(name: str, uri: str) -> dict[str, Any]:
    shown = redaction.redact_answer(one_line(name), {})[0]
    return {"name": shown, "uri": uri, "mimeType": PAGE_TYPE}


def read_page(config: Config, uri: str) -> str:
    """Read the page at an address. Raise ContextModeError if the address is invalid, or the page
    does not exist."""
    parts = urlsplit(uri)
    kind, name = parts.netloc, unquote(parts.path.strip("/"))
    is_own = uri.startswith(PAGE_ADDRESS)
    if is_own and name:
        return _read_open(config, lambda pages: pages.read(name))
    if kind in MADE_PAGES and not name:
        return _read_open(config, lambda pages: pages.read(kind))
    if kind == "raw" and name:
        return _read_open(config, lambda pages: pages.read(f"source/{name}"))
    if kind == "wiki" and name:
        return _read_open(config, lambda pages: _find_in_wiki(pages, name))
    known = ", ".join(
        [*(f"{PAGE_SCHEME}://{one}" for one in MADE_PAGES), "ctx://wiki/SLUG", "ctx://raw/SLUG"]
    )
    raise UsageError(f"unknown page address {uri!r}", f"Choose from: {known}.")


def _find_in_wiki(pages: Pages, slug: str) -> ReadPage:
    for kind in PAGE_TYPES:
        if kind != "source":
            with suppress(BadInputError):
                return pages.read(f"{kind}/{slug}")
    return pages.read(slug)  # raises the right error


def _read_open(config: Config, look: Callable[[Pages], ReadPage]) -> str:
    if not has_drafts(str(config.project)):
        raise not_begun()
    with open_pages(config, author="-") as pages:
        return page_text(look(pages))


SCHEME = "context-mode"
_T = TypeVar("_T")
LISTED_MAX = 100
READ_BYTES_MAX = 256 * 1024
READ_S_MAX = 60.0  # enough to read a transcript of 256 MiB whose texts are not stored
TEMPLATES = (
    ("output", "{output_id}", "Both streams of a stored output, by its output_id"),
    ("source", "{id}{?start,end}", "A source of the knowledge base, or a range of its bytes"),
    ("session", "{id}{?start,end}", "The messages of an agent's session, or a range of them"),
    ("page", "{slug}", "A page of the project's knowledge"),
)
CONTEXO = "ctx"
CONTEXO_TEMPLATES = (
    ("wiki", "{slug}", "The same page, at its address in Contexo"),
    ("raw", "{slug}", "The page that a session was distilled into"),
)
KINDS = tuple(kind for kind, _, _ in TEMPLATES)
MEDIA_TYPES = {"markdown": "text/markdown", "json": "application/json", "csv": "text/csv"}


async def list_resources(client: Client) -> dict[str, Any]:
    """List the latest sources, sessions and pages."""
    library = await _open_library(client)
    sources = await read_in_time(library.sources)
    described = [_describe(one) for one in sources[:LISTED_MAX]]

    sessions = await read_in_time(partial(list_sessions, library.config, client.holder))

    pages = await read_in_time(partial(list_pages, library.config))
    return {"resources": [*described, *sessions, *pages]}


def list_templates() -> dict[str, Any]:
    """List the URI templates of all readable resources."""
    return {
        "resourceTemplates": [
            {"name": name, "uriTemplate": f"{scheme}://{name}/{rest}", "description": description}
            for scheme, rows in ((SCHEME, TEMPLATES), (CONTEXO, CONTEXO_TEMPLATES))
            for name, rest, description in rows
        ]
    }


async def read_resource(client: Client, uri: str, revision: str) -> dict[str, Any]:
    """Read the exact text, without secrets. Raise ProtocolError if the URI is invalid, or its
    resource is not stored."""
    library = await _open_library(client)
    try:
        content = await read_in_time(partial(content_of, library, uri, holder=client.holder))
    except ContextModeError as error:
        code = INVALID_PARAMS if revision in STATELESS_REVISIONS else RESOURCE_NOT_FOUND
        raise ProtocolError(code, str(error), {"uri": uri}) from error
    return {"contents": [content]}


async def read_in_time(read: Callable[[], _T]) -> _T:
    """Read in a thread, which is abandoned after READ_S_MAX. Raise ProtocolError if it took too
    long."""
    with trio.move_on_after(READ_S_MAX):
        return await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    raise ProtocolError(INTERNAL_ERROR, f"reading took longer than {READ_S_MAX:g} s")


async def _open_library(client: Client) -> Library:
    try:
        return (await client.app()).library
    except ContextModeError as error:
        raise ProtocolError(INTERNAL_ERROR, str(error)) from error


def content_of(library: Library, uri: str, *, holder: str = "") -> dict[str, str]:
    """Read the resource at a URI, if the holder of the token may see it; raise ContextModeError if
    the URI is invalid, or its resource is not stored."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise UsageError(f"invalid resource {uri!r}: {error}") from error
    name, kind = parts.path.strip("/"), parts.netloc
    if parts.scheme == CONTEXO or (parts.scheme, kind) == (SCHEME, "page"):
        page = read_page(library.config, uri)
        shown, _ = redaction.redact_answer(page, {})
        return {"uri": uri, "mimeType": MEDIA_TYPES["markdown"], "text": shown}
    if parts.scheme != SCHEME or kind not in KINDS or not name:
        known = ", ".join(f"{SCHEME}://{one}/ID" for one in KINDS)
        raise UsageError(f"unknown resource {uri!r}", f"Choose from: {known}.")
    if kind == "session":
        given = _read_range(parts.query, None, "messages")
        text = read_session(library.config, unquote(name), given, holder)
        media_type = "text/plain"
    elif kind == "output":
        streams = _find_streams(library, name)
        text, media_type = _join(library, streams), "text/plain"
    else:
        source = library.source(name)
        text, media_type = _read_part(library, source, parts.query), media_type_of(source)
        if stale := library.find_stale(source):
            text += f"\n[{STALE[stale]}]"
    shown, _ = redaction.redact_answer(text, {})
    return {"uri": uri, "mimeType": media_type, "text": shown}


def _find_streams(library: Library, output_id: str) -> Sequence[kb.Source]:
    every = library.sources(matching=f"{output_id}/", all_versions=True)
    streams = [one for one in every if one.label.startswith(f"{output_id}/")]
    if not streams:
        raise UsageError(f"no output {output_id!r} is stored", "List stored ones: resources/list")
    return sorted(streams, key=lambda one: one.id)


def _join(library: Library, streams: Sequence[kb.Source]) -> str:
    """Join stdout and stderr, with a mark before stderr."""
    first, *others = streams
    text = _read_part(library, first, "")
    for other in others:
        mark = other.label.partition("/")[2].partition(" ")[0]
        text = f"{text.removesuffix(chr(10))}\n[{mark}]\n{_read_part(library, other, '')}"
    return text


def _read_part(library: Library, source: kb.Source, query: str) -> str:
    start, last = _read_range(query, source.bytes_total, "bytes")
    end = source.bytes_total if last is None else last
    data = library.store.text(source.id, start, min(end, start + READ_BYTES_MAX))
    left = min(end, source.bytes_total) - start - READ_BYTES_MAX
    text = data.decode("utf-8", "replace")
    if left > 0:
        text += (
            f"\n[{left} bytes more: {SCHEME}://source/{source.id}?start={start + READ_BYTES_MAX}]"
        )
    return text


def _read_range(query: str, total: int | None, unit: str) -> tuple[int, int | None]:
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    try:
        start = int(given.pop("start", 0))
        end = int(given.pop("end")) if "end" in given else total
    except ValueError as error:
        raise UsageError(f"invalid range {query!r}", f"Give start and end in {unit}.") from error
    if given or start < 0 or (end is not None and end < start):
        raise UsageError(f"invalid range {query!r}", f"Give start and end in {unit}.")
    return start, end


def media_type_of(source: kb.Source) -> str:
    """Return the media type of a stored text."""
    if source.converted and source.kind == "html":
        return MEDIA_TYPES["markdown"]
    return MEDIA_TYPES.get(source.kind, "text/plain")


def _describe(source: kb.Source) -> dict[str, Any]:
    return {
        "name": redaction.redact_answer(source.label, {})[0],
        "uri": f"{SCHEME}://source/{source.id}",
        "mimeType": media_type_of(source),
        "size": source.bytes_total,
    }
