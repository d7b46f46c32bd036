"""The bounds of fetching, and the answer of one address."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ctxmode.errors import ContextModeError
from ctxmode.render.highlight import age, one_line, size

PREVIEW_BYTES = 2048
PREVIEW_BYTES_OF_SEVERAL = 320


class PageStatus(StrEnum):
    """Whether the page came new, is still what its server has, came from the cache, or failed."""

    NEW = "new"
    UNCHANGED = "unchanged"
    CACHED = "cached"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What became of one address."""

    url: str
    status: PageStatus
    source: str = ""  # what finds its text
    source_id: int | None = None
    title: str | None = None
    kind: str | None = None
    converted: str | None = None
    sections: int = 0
    bytes: int = 0  # of the text that is kept
    redactions: int = 0
    age_s: float = 0.0  # how long ago the server was asked
    preview: str = ""  # the beginning of the text that is kept
    error: str = ""  # why there is no text

    @property
    def ok(self) -> bool:
        return self.status is not PageStatus.FAILED


def fetch_text(pages: Sequence[PageAnswer]) -> str:
    """Write one page with its beginning; of several a line each and their first words."""
    limit = PREVIEW_BYTES if len(pages) == 1 else PREVIEW_BYTES_OF_SEVERAL
    return "\n\n".join(_page_text(page, limit) for page in pages)


def _page_text(page: PageAnswer, limit: int) -> str:
    if not page.ok:
        return f"[failed] {page.url}: {page.error}"
    title = f" | {one_line(page.title)}" if page.title else ""
    facts = [f"{page.sections} sections", size(page.bytes)]
    if page.converted:
        facts.append(page.converted)
    if page.redactions:
        facts.append(f"{page.redactions} secrets redacted")
    if page.status is not PageStatus.NEW:
        facts.append(f"asked {age(page.age_s)} ago")
    line = f"[{page.status}] {page.source}{title}\n[{', '.join(facts)}]"
    preview = page.preview.encode()[:limit].decode("utf-8", "ignore").strip()
    more = "\n[…]" if page.bytes > limit else ""
    return f"{line}\n{preview}{more}" if preview else line


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, for a port."""

Judge = Callable[[str], None]
"""Raises FetchError where a rule forbids a URL."""


class FetchError(ContextModeError):
    """An address could not be fetched, or may not be."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that one address may cost."""

    total_s: float = 30.0
    idle_s: float = 10.0
    bytes_max: int = 20 * 1024 * 1024  # before and after decompression
    redirects_max: int = 5
    retries_max: int = 2
    retry_s_max: float = 10.0  # the longest wait that a server may ask for


@dataclass(frozen=True, slots=True)
class Network:
    """How to reach others."""

    resolve: Resolve
    allow_private: bool = False  # this machine and private networks are permitted
    certificates: ssl.SSLContext | None = None  # None: the system's


Validators: TypeAlias = tuple[str | None, str | None]
"""What a server can compare to say that a page has not changed: its ETag, and its last change."""

ValidatorsOf = Callable[[str], Validators | None]
"""What is known of the address that a hop asks."""


@dataclass(frozen=True, slots=True)
class Response:
    """What the last hop answered."""

    url: str
    body: bytes = b""
    content_type: str = ""
    etag: str | None = None
    last_modified: str | None = None
    unchanged: bool = False  # the validators still hold, and there is no body
