"""What fetching gives back: frozen data with a JSON form, rendered as text for a reader."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from ctxmode.render.amounts import age, size
from ctxmode.render.highlight import one_line

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
    """One address. `source` finds its text; `age_s` is how long ago the server was asked. `bytes`
    and `preview` are of the text that is kept; `error` says why there is none."""

    url: str
    status: PageStatus
    source: str = ""
    source_id: int | None = None
    title: str | None = None
    kind: str | None = None
    converted: str | None = None
    sections: int = 0
    bytes: int = 0
    redactions: int = 0
    age_s: float = 0.0
    preview: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status is not PageStatus.FAILED

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """Every address, in the order asked."""

    pages: tuple[PageAnswer, ...]

    @property
    def ok(self) -> bool:
        return any(page.ok for page in self.pages)

    @property
    def produced(self) -> int:
        """Bytes of text that came from the network now."""
        return sum(page.bytes for page in self.pages if page.status is PageStatus.NEW)

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "pages": [page.to_json() for page in self.pages]}


def fetch_text(answer: FetchAnswer) -> str:
    """Write one page with its beginning; of several a line each and their first words."""
    limit = PREVIEW_BYTES if len(answer.pages) == 1 else PREVIEW_BYTES_OF_SEVERAL
    return "\n\n".join(_page_text(page, limit) for page in answer.pages)


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
