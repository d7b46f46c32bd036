"""Fetching of pages into the store, several in parallel: from the cache if it is fresh, else with a
check for changes."""

from __future__ import annotations

import codecs
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import trio

import kb
import policy
from base.secrets import redact
from ctxmode.errors import ContextModeError, UsageError, translate_errors
from ctxmode.operations import audit
from ctxmode.operations.library import Library
from ctxmode.operations.parallel_work import work_through
from ctxmode.render.terminal_output import OnProgress, ignore_progress
from ctxmode.web import http
from ctxmode.web.model import (
    PREVIEW_BYTES,
    Bounds,
    FetchError,
    Network,
    PageAnswer,
    PageStatus,
    Response,
    Validators,
)
from kb import as_utf8, is_binary, pages, title_of
from kb.detect import detect
from policy.messages import cut, fit

PDF_S_MAX = 60.0
PDF_WORKER = Path(__file__).with_name("pdf_worker.py")

_TEXT_TYPES = re.compile(
    r"text/.*|application/(?:.*[+/-])?(?:json|xml|yaml|javascript|ecmascript|ndjson|jsonl|toml|sql"
    r"|x-sh|typescript|graphql|markdown)$"
)
_META_CHARSET = re.compile(rb"""(?is)<meta[^<>]{1,200}?charset\s*=\s*["']?([a-z0-9._:-]{1,40})""")
_HEADER_CHARSET = re.compile(r"""(?i)charset\s*=\s*["']?([a-z0-9._:-]{1,40})""")
# Python's codecs for names and for source code, which no page uses. The time of the first is
# quadratic in the length: a megabyte would take a minute.
_NO_CHARSETS = frozenset(("punycode", "idna", "unicode-escape", "raw-unicode-escape", "utf-7"))
_SNIFF_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Content:
    """UTF-8 text of a page, with its metadata."""

    text: bytes
    media_type: str | None  # gives the store its kind; None means detect it
    title: str | None = None
    converted: str | None = None  # the conversion that was applied here
    base_url: str | None = None  # base of relative links


async def content_of(response: Response) -> Content:
    """Convert an answer to text; raise FetchError if it has none."""
    media_type = response.content_type.partition(";")[0].strip().lower()
    body = response.body
    if body.startswith(b"%PDF-") or (media_type == "application/pdf" and body):
        return Content(await _pdf_text(body), "text/markdown", converted="PDF to Markdown")
    known = bool(_TEXT_TYPES.match(media_type))
    if is_binary(body[:_SNIFF_BYTES]) or (not known and _undecodable(body)):
        raise FetchError(
            f"{media_type or 'binary'} content has no text", "Fetch a page, or its text."
        )
    kind = detect(body[:_SNIFF_BYTES], media_type=media_type if known else None).kind
    text, said = _decode(body, response.content_type, kind)
    title = title_of(text.decode("utf-8", "replace")) if kind == "html" else None
    return Content(text, media_type if known else None, title, said, response.url)


def _undecodable(body: bytes) -> bool:
    try:
        body[:_SNIFF_BYTES].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < min(len(body), _SNIFF_BYTES) - 4
    return False


def _decode(body: bytes, content_type: str, kind: str) -> tuple[bytes, str | None]:
    """Convert the body to UTF-8; return the text and the conversion. Use the byte order mark, else
    the header's charset, else the page's, else cp1252 like browsers."""
    marked, encoding = as_utf8(body)
    if encoding is not None:
        return marked, f"{encoding} to UTF-8"
    named = [found.group(1) for found in [_HEADER_CHARSET.search(content_type)] if found]
    if kind in ("html", "xml"):
        in_page = _META_CHARSET.search(body[:4096])
        named += [in_page.group(1).decode("ascii")] if in_page else []
    for name in [*named, "utf-8"]:
        try:
            codec = codecs.lookup(name)
            if codec.name in _NO_CHARSETS:
                continue
            text = body.decode(codec.name)
        except (LookupError, UnicodeError, ValueError):
            continue
        if not isinstance(text, str):
            continue  # the codec is not a character encoding
        said = None if codec.name == "utf-8" else f"{codec.name} to UTF-8"
        return text.encode("utf-8", "replace"), said
    return body.decode("cp1252", "replace").encode(), "cp1252 (guessed) to UTF-8"


async def _pdf_text(body: bytes) -> bytes:
    with trio.move_on_after(PDF_S_MAX):
        done = await trio.run_process(
            [sys.executable, "-I", str(PDF_WORKER)],
            stdin=body,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env={},
        )
        if done.returncode == 0:
            return done.stdout or b""
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise FetchError(f"cannot read the PDF: {reason or 'it exceeds a limit'}")
    raise FetchError(f"cannot read the PDF in {PDF_S_MAX:.0f} s")


T = TypeVar("T")

DAY_S = 86_400.0
CONCURRENCY_MAX = 8
URLS_MAX = 50
CONCURRENCY = 4  # default number of URLs that are fetched at once

Wanted: TypeAlias = tuple[str, str | None]
"""A URL, and the label to store it under; None means the URL itself."""


@dataclass(frozen=True, slots=True)
class PageFetcher:
    """Fetcher of URLs into the store.

    Attributes:
        writing: held while writing to the store.
        ttl_s: maximum age of a stored page; older ones are checked for changes on their server.
        force: fetch again, even if the page is stored.
        concurrency: number of URLs that are fetched at once.
    """

    library: Library
    network: Network
    writing: trio.CapacityLimiter
    ttl_s: float = DAY_S
    force: bool = False
    concurrency: int = CONCURRENCY
    bounds: Bounds = field(default_factory=Bounds)

    async def fetch(
        self, wanted: Sequence[Wanted], on_progress: OnProgress = ignore_progress
    ) -> tuple[PageAnswer, ...]:
        """Fetch every URL; return the results in their order. A failure is a result, too. Raise
        UsageError if there is no URL, or too many."""
        if not wanted:
            hint = "Give a URL, such as https://example.org/docs."
            raise UsageError("missing URL", hint)
        if len(wanted) > URLS_MAX:
            raise UsageError(f"more than {URLS_MAX} URLs in one call", "Give fewer.")
        with translate_errors():
            rules = await trio.to_thread.run_sync(self.library.rules)
        workers = min(self.concurrency, CONCURRENCY_MAX)
        return await work_through(wanted, partial(self._answer, rules), workers, on_progress)

    async def _answer(self, rules: policy.Rules, wanted: Wanted) -> PageAnswer:
        try:
            with translate_errors():
                return await self._fetch(wanted, partial(self._judge, rules))
        except ContextModeError as error:
            return PageAnswer(redact(wanted[0])[0], PageStatus.FAILED, error=str(error))

    async def _fetch(self, wanted: Wanted, judge: Callable[[str], None]) -> PageAnswer:
        judge(wanted[0])  # rules also apply to stored pages
        known = await trio.to_thread.run_sync(pages.find, self.library.store, wanted[0])
        if known is not None and not self.force:
            source = await self._source(known)
            if source is not None and time.time() - known.fetched_at < self.ttl_s:
                return await self._build_answer(wanted, known, source, PageStatus.CACHED)
            known = known if source is not None else None

        def validators(url: str) -> Validators | None:
            if known is None or self.force or not known.came_from(url):
                return None
            return known.etag, known.last_modified

        response = await http.get(
            wanted[0],
            judge=judge,
            network=self.network,
            bounds=self.bounds,
            validators=validators,
        )
        if response.unchanged:
            if known is None:
                raise FetchError("its server answered 304 (unchanged), but the page is not stored")
            await self._write(partial(pages.confirm, self.library.store, wanted[0]))
            source = self.library.store.source(known.source_id)
            return await self._build_answer(wanted, known, source, PageStatus.UNCHANGED)
        return await self._add(wanted, response, await content_of(response))

    def _judge(self, rules: policy.Rules, url: str) -> None:
        allow_private = self.network.allow_private
        verdict = policy.evaluate_fetch(url, rules, allow_private=allow_private)
        config = self.library.config
        entry = audit.build_entry("fetch", "url", url, verdict.to_json(), str(config.project))
        problem = audit.write_entry(config.log_dir, entry)
        if not verdict.allowed:
            is_ask = verdict.decision is policy.Decision.ASK
            nobody = "fetches cannot ask for approval" if is_ask else ""
            why = "; ".join(filter(None, (verdict.message, nobody, problem)))
            shown = cut(redact(url)[0], 100)
            raise FetchError(fit(f"not allowed to fetch {shown}: {why}"))
        if problem:
            sys.stderr.write(f"context-mode: {problem}\n")

    async def _source(self, known: pages.Page) -> kb.Source | None:
        """Read the source of a stored page; None if it expired or was superseded."""
        source = await trio.to_thread.run_sync(self.library.store.source, known.source_id)
        expired = source.expires_at is not None and source.expires_at <= time.time()
        return None if expired or source.superseded_by is not None else source

    async def _add(self, wanted: Wanted, response: Response, content: Content) -> PageAnswer:
        spec = kb.SourceSpec(
            label_of(wanted),
            kb.Origin.FETCH,
            media_type=content.media_type,
            base_url=content.base_url,
        )
        indexed = await self._write(partial(self.library.store.add, spec, content.text))
        put = partial(
            pages.put,
            self.library.store,
            wanted[0],
            indexed.source_id,
            final_url=response.url,
            title=None if content.title is None else redact(content.title)[0],
            etag=response.etag,
            last_modified=response.last_modified,
            converted=content.converted,
        )
        await self._write(put)
        known = await trio.to_thread.run_sync(pages.find, self.library.store, wanted[0])
        source = await trio.to_thread.run_sync(self.library.store.source, indexed.source_id)
        if known is None:
            raise FetchError("it was purged right after it was stored")
        return await self._build_answer(wanted, known, source, PageStatus.NEW)

    async def _build_answer(
        self, wanted: Wanted, known: pages.Page, source: kb.Source, status: PageStatus
    ) -> PageAnswer:
        text = partial(self.library.store.text, source.id, 0, 2 * PREVIEW_BYTES)
        preview = (await trio.to_thread.run_sync(text)).decode("utf-8", "ignore")
        return PageAnswer(
            url=redact(wanted[0])[0],
            status=status,
            source=source.label,
            source_id=source.id,
            title=known.title,
            kind=source.kind,
            converted=source.converted,
            sections=source.chunks,
            bytes=source.bytes_total,
            redactions=source.redactions,
            age_s=0.0 if status is PageStatus.NEW else max(0.0, time.time() - known.fetched_at),
            preview=preview.encode()[:PREVIEW_BYTES].decode("utf-8", "ignore"),
        )

    async def _write(self, call: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(call, limiter=self.writing)


def label_of(wanted: Wanted) -> str:
    """Return the label of a page: its URL without secrets, after a given label."""
    url, label = redact(wanted[0])[0], wanted[1]
    return f"{label}::{url}" if label else url
