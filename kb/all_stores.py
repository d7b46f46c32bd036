"""One quota for all stores of a user: the oldest sources go first, whichever store they are in.

A store that is damaged, or locked by another process, is skipped and named. It is not waited for or
set aside, and the others do not make up for its size.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from base.locks import hold_lock
from base.plain_files import read_json, write_json
from kb import eviction
from kb.access import Access
from kb.eviction import DiskUse
from kb.model import StoreError

LOCK = ".quota.lock"
REPORT = "quota.json"
BUCKET_S = 3600
"""Sources of one hour count as equally old, whichever store they are in."""


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The last eviction for the quota of all stores: its time, how many stores lost how much text,
    and why others, by name, were skipped."""

    at: float
    stores: int = 0
    text_bytes: int = 0
    passed_over: Mapping[str, str] = field(default_factory=dict)


Holding = tuple[DiskUse, int, Sequence[tuple[tuple[int, int], int]]]
"""A store's disk use, its amount of text, and how much of that may go, by age; superseded versions
count as older than all current ones."""


def total(folder: Path) -> int:
    """Return the disk space that all stores in a folder use, in bytes."""
    return sum(eviction.of_store(path).total for path in eviction.stores(folder))


def keep_to_quota(folder: Path, quota: int) -> Generator[None]:
    """Take the steps towards the quota, one each time it is resumed. If another process is doing
    that already, do nothing.

    Raises:
        OSError: the folder cannot be written.
    """
    if total(folder) <= quota:
        return
    with _alone(folder) as alone:
        if alone:
            yield from _keep_to_quota(folder, quota)


def _keep_to_quota(folder: Path, quota: int) -> Generator[None]:
    passed_over: dict[str, str] = {}
    holdings: dict[Path, Holding] = {}
    for path in eviction.stores(folder):
        try:
            with closing(_open(path)) as access:
                holdings[path] = _holding(access)
        except StoreError as error:
            passed_over[path.name] = str(error)
        yield
    stores = text_bytes = 0
    for path, cut in cuts(holdings, quota).items():
        try:
            with closing(_open(path)) as access:
                _begin(access, cut)
                while eviction.next_step(access):
                    yield
        except StoreError as error:
            passed_over[path.name] = str(error)
        else:
            text_bytes += cut
            stores += cut > 0
    write_json(folder / REPORT, asdict(QuotaReport(time.time(), stores, text_bytes, passed_over)))


def _open(path: Path) -> Access:
    return Access(path, create=False, of_others=True)


def _begin(access: Access, cut: int) -> None:
    eviction.begin(access, "all", lambda text_bytes, _: max(0, text_bytes - cut))


def _holding(access: Access) -> Holding:
    with access.reading() as db:
        rows = db.execute(
            "SELECT superseded_by IS NULL, CAST(indexed_at / ? AS INTEGER), sum(bytes_indexed)"
            " FROM source WHERE pinned = 0 GROUP BY 1, 2 ORDER BY 1, 2",
            (BUCKET_S,),
        )
        by_age = tuple(((current, hour), size) for current, hour, size in rows)
        return eviction.of_store(access.path, db), eviction.text_bytes(db), by_age


def cuts(holdings: Mapping[Path, Holding], quota: int) -> dict[Path, int]:
    """Return how much text to remove from which stores; empty if freeing empty pages is enough."""
    uses = {path: use for path, (use, _, _) in holdings.items()}
    if sum(use.total for use in uses.values()) <= quota:
        return {}
    found = {path: 0 for path, use in uses.items() if use.total > use.filled}
    filled = sum(use.filled for use in uses.values())
    excess = filled - int(eviction.STAYS * quota) if filled > quota else 0
    by_age = sorted((age, path, n) for path, one in holdings.items() for age, n in one[2])
    for _, path, text_bytes in by_age:
        if excess <= 0:
            break
        use, all_text, _ = holdings[path]
        # Text takes its share of the filled disk space.
        excess_text = -(-excess * all_text // use.filled) if use.filled else 0
        taken = min(text_bytes, excess_text)
        found[path] = found.get(path, 0) + taken
        excess -= taken * use.filled // all_text if all_text else 0
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Report whether no other process evicts; if so, none will start inside the context."""
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(folder / LOCK, wait_s=0))
        except BlockingIOError:
            yield False
        else:
            yield True


def latest(folder: Path) -> QuotaReport | None:
    """Return the last report; None if it is missing or cannot be read."""
    try:
        return QuotaReport(**(read_json(folder / REPORT) or {}))
    except TypeError:
        return None
