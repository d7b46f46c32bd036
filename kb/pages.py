"""Fetched pages: when, and the validators with which their server reports changes.

Only hashes of addresses are stored, for they may hold keys.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from kb.store import Store


@dataclass(frozen=True, slots=True)
class Page:
    """The record of an address."""

    source_id: int  # the source that holds its text
    fetched_at: float  # or last found unchanged, in seconds since the epoch
    title: str | None
    etag: str | None  # this and the next are validators that the final URL returned
    last_modified: str | None
    final_sha256: bytes

    def came_from(self, url: str) -> bool:
        """Return whether the validators are those of this address."""
        return self.final_sha256 == _digest(url)


def find(store: Store, url: str) -> Page | None:
    """Find the page at an address, unless its text was purged."""
    with store.access.reading() as db:
        row = db.execute(
            "SELECT source_id, fetched_at, title, etag, last_modified, final_sha256"
            " FROM page WHERE url_sha256 = ?",
            (_digest(url),),
        ).fetchone()
    return None if row is None else Page(*row)


def put(  # noqa: PLR0913 - a row
    store: Store,
    url: str,
    source_id: int,
    *,
    final_url: str,
    title: str | None = None,
    etag: str | None = None,
    last_modified: str | None = None,
    converted: str | None = None,
) -> None:
    """Record that the address was fetched now and is stored as this source, which was
    `converted`."""
    row = (_digest(url), source_id, time.time(), title, etag, last_modified, _digest(final_url))
    with store.access.writing() as db:
        if converted is not None:
            db.execute(
                "UPDATE source SET converted = ? || coalesce('; ' || converted, '') WHERE id = ?",
                (converted, source_id),
            )
        db.execute(
            "INSERT OR REPLACE INTO page (url_sha256, source_id, fetched_at, title, etag,"
            " last_modified, final_sha256) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def confirm(store: Store, url: str) -> None:
    """Record that the address was found unchanged now."""
    with store.access.writing() as db:
        db.execute(
            "UPDATE page SET fetched_at = ? WHERE url_sha256 = ?", (time.time(), _digest(url))
        )


def _digest(url: str) -> bytes:
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()
