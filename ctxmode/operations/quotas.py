"""Quotas on disk use, of one project and of all together, and current use."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from base.stores import connect_read_only
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError
from kb import all_stores, eviction

READ_S = 1.0  # seconds to wait for a locked store; after that its evictions are skipped
LATELY_S = 30 * 86_400
DONE = object()
EVICTIONS_LISTED = 3  # maximum number of listed evictions


@dataclass(frozen=True, slots=True)
class Holdings:
    """Bytes used on the disk and quotas, of the project and of all together.

    Attributes:
        projects: number of projects with a store.
        dropped: recent evictions, latest first.
        of_all: the last eviction for the quota of all together.
    """

    used_bytes: int
    quota_bytes: int
    all_used_bytes: int
    all_quota_bytes: int
    projects: int
    dropped: tuple[eviction.Eviction, ...] = ()
    of_all: all_stores.QuotaReport | None = None


def load_quotas(config: Config) -> tuple[int, int]:
    """Load the quotas of the project and of all together, in bytes; raise UsageError for a wrong
    value."""
    values = load_settings(config.project, config.config_home).values
    return int(values["quota.project_bytes"]), int(values["quota.all_bytes"])


def read_holdings(config: Config) -> Holdings:
    """Measure disk use of the project and of all together, and read recent evictions."""
    folder = config.database.parent
    of_project, of_all = load_quotas(config)
    return Holdings(
        eviction.of_store(config.database).total,
        of_project,
        all_stores.total(folder),
        of_all,
        sum(1 for _ in eviction.stores(folder)),
        _read_evictions(config.database),
        all_stores.latest(folder),
    )


def _read_evictions(path: Path) -> tuple[eviction.Eviction, ...]:
    """Read recent evictions of a store without creating or repairing it; empty if it cannot be
    read."""
    if not path.exists():
        return ()
    try:
        with closing(connect_read_only(path, wait_s=READ_S)) as db:
            found = eviction.latest(db)
    except sqlite3.Error:
        return ()
    since = time.time() - LATELY_S
    return tuple(one for one in found if one.begun_at > since and one.text_bytes)[:EVICTIONS_LISTED]


async def step_to_quota_of_all(config: Config) -> None:
    """Delete the oldest sources of all projects over quota, in short steps. `kept stats` lists
    what cannot be deleted."""
    import trio  # noqa: PLC0415 - what only measures does without

    with suppress(OSError, ContextModeError):
        _, quota = await trio.to_thread.run_sync(load_quotas, config)
        with closing(all_stores.keep_to_quota(config.database.parent, quota)) as steps:
            while await trio.to_thread.run_sync(next, steps, DONE) is not DONE:
                pass
