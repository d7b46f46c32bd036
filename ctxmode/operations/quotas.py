"""The quotas on disk use, of a project and of all projects of the user, and how much is used."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from base.stores import connect_read_only
from ctxmode.config.locations import Config
from ctxmode.config.settings import load_settings
from kb import all_stores, eviction

READ_S = 1.0
"""How long reading evictions may take; a store that is locked for longer is left out."""

LATELY_S = 30 * 86_400
EVICTIONS_LISTED = 3
"""How many evictions are listed."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What is kept, and may be, in bytes on the disk, of the project and of all projects.

    Attributes:
        projects: how many have a store.
        dropped: what went lately, the latest first.
        of_all: what was last done for the quota of all.
    """

    used_bytes: int
    quota_bytes: int
    all_used_bytes: int
    all_quota_bytes: int
    projects: int
    dropped: tuple[eviction.Eviction, ...] = ()
    of_all: all_stores.QuotaReport | None = None


def load_quotas(config: Config) -> tuple[int, int]:
    """Load the quotas that are set, of the project and of all, in bytes; a UsageError names a file
    with a wrong value."""
    values = load_settings(config.project, config.config_home).values
    return int(values["quota.project_bytes"]), int(values["quota.all_bytes"])


def read_holdings(config: Config) -> Holdings:
    """Measure what is kept of the project and of all, and read what went lately."""
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
    """Read what went from a store, without making or mending one; nothing where it cannot be
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
