"""Limits of fetching, network settings, and answers for one URL."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from base.wording import inflect
from ctxmode.errors import ContextModeError
from ctxmode.render.highlight import age, one_line, size

PREVIEW_BYTES = 2048
PREVIEW_BYTES_OF_SEVERAL = 320


class PageStatus(StrEnum):
    """The origin of a page: fetched now, unchanged on its server, from the cache, or failed."""

    NEW = "new"
    UNCHANGED = "unchanged"
    CACHED = "cached"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The result of fetching one URL."""

    url: str
    status: PageStatus
    source: str = ""  # the label of its text
    source_id: int | None = None
    title: str | None = None
    kind: str | None = None
    converted: str | None = None
    sections: int = 0
    bytes: int = 0  # of the stored text
    redactions: int = 0
    age_s: float = 0.0  # seconds since the server was asked
    preview: str = ""  # the beginning of the stored text
    error: str = ""  # why there is no text

    @property
    def ok(self) -> bool:
        return self.status is not PageStatus.FAILED


def fetch_text(pages: Sequence[PageAnswer]) -> str:
    """Write one page with its beginning, or several with a line and the first words of each."""
    limit = PREVIEW_BYTES if len(pages) == 1 else PREVIEW_BYTES_OF_SEVERAL
    return "\n\n".join(_page_text(page, limit) for page in pages)


def _page_text(page: PageAnswer, limit: int) -> str:
    if not page.ok:
        return f"[failed] {page.url}: {page.error}"
    title = f" | {one_line(page.title)}" if page.title else ""
    facts = [inflect(page.sections, "section"), size(page.bytes)]
    if page.converted:
        facts.append(page.converted)
    if page.redactions:
        facts.append(f"{inflect(page.redactions, 'secret')} redacted")
    if page.status is not PageStatus.NEW:
        facts.append(f"checked {age(page.age_s)} ago")
    line = f"[{page.status}] {page.source}{title}\n[{', '.join(facts)}]"
    preview = page.preview.encode()[:limit].decode("utf-8", "ignore").strip()
    more = "\n[…]" if page.bytes > limit else ""
    return f"{line}\n{preview}{more}" if preview else line


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Looks up the addresses of a host, for a port."""

Judge = Callable[[str], None]
"""Raises FetchError if a rule forbids a URL."""


class FetchError(ContextModeError):
    """A URL could not be fetched, or is not allowed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for fetching one URL."""

    total_s: float = 30.0
    idle_s: float = 10.0
    bytes_max: int = 20 * 1024 * 1024  # before and after decompression
    redirects_max: int = 5
    retries_max: int = 2
    retry_s_max: float = 10.0  # maximum wait that a server may ask for


@dataclass(frozen=True, slots=True)
class Network:
    """Name resolution, allowed addresses and certificates."""

    resolve: Resolve
    allow_private: bool = False  # allow this machine and private networks
    certificates: ssl.SSLContext | None = None  # None means the system's


Validators: TypeAlias = tuple[str | None, str | None]
"""ETag and Last-Modified, with which a server detects that a page is unchanged."""

ValidatorsOf = Callable[[str], Validators | None]
"""Returns the validators of a hop's URL."""


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of the last hop."""

    url: str
    body: bytes = b""
    content_type: str = ""
    etag: str | None = None
    last_modified: str | None = None
    unchanged: bool = False  # the validators match, and there is no body
