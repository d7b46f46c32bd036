"""How long the scans of a repository's newest commit, and packs of it, take.

Secrets are looked for as they are for a user. Processor time is this process's and its parsers'.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.repomap_cases import FILE_BYTES, clone, git
from ctxmode.operations.project_maps import hide_secrets, redact
from kb.tokens import DEAREST, estimate
from policy import secrets
from repomap import workers
from repomap.fitting import fit
from repomap.pack_model import PackRequest
from repomap.ranking import rank_files
from repomap.scanning import ScanRequest, scan
from repomap.store import MapStore, read_files

BAR_BYTES, BAR_FILES, BAR_SCAN_S = 20_000_000, 2_000, 40.0
"""So long may a first scan of so much take on one core; where there is more, in proportion."""

BAR_S = 0.5
"""So long may a scan of what did not change, and a pack, take."""

SAMPLES = 5
TASKS = 10
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock, and of processors."""

    wall_s: float
    cpu_s: float


def measure(repository: Path) -> None:
    """Print a line: files, size, and the seconds of each."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        clone(repository, work)
        git(work, "checkout", "-q", "-f", "HEAD")
        store = MapStore(Path(folder, "map.sqlite3"))
        asked = ScanRequest(work, secrets.is_secret_path, hide_secrets)
        workers.restart()
        first = _spend(lambda: scan(store, asked))
        time.sleep(2.1)  # so that no file counts as changed just now
        scan(store, asked)
        unchanged = _median([_spend(lambda: scan(store, asked)) for _ in range(SAMPLES)])
        rows = read_files(store.db).values()
        size = sum(row.size for row in rows)
        share = max(1.0, size / BAR_BYTES, len(rows) / BAR_FILES)
        tasks = git(work, "log", "--no-merges", f"-n{TASKS}", "--format=%B%x00").split("\0")
        packs = [_spend(partial(_pack, store, work, task)) for task in tasks if task.strip()]
        pack = _median(packs)
        store.close()
    bar_s = BAR_SCAN_S * share
    print(
        f"{repository}: {len(rows)} files, {size / 1e6:.1f} MB; first scan"
        f" {first.wall_s:.1f} s, {first.cpu_s:.1f} s of processors (bar {bar_s:.1f})"
        f"; unchanged {unchanged.wall_s:.2f} s, {unchanged.cpu_s:.2f} s (bar {BAR_S})"
        f"; pack {pack.wall_s:.2f} s, {pack.cpu_s:.2f} s (bar {BAR_S}), the longest"
        f" {max(one.cpu_s for one in packs):.2f} s",
        flush=True,
    )


def _pack(store: MapStore, work: Path, task: str) -> None:
    asked = PackRequest(task, lambda text: estimate(text, DEAREST), redact)
    fit(store.db, work, asked, rank_files(store.db, task), file_bytes=FILE_BYTES)


def _spend(run: Callable[[], object]) -> Spent:
    began, used = time.perf_counter(), _processors_s()
    run()
    return Spent(time.perf_counter() - began, _processors_s() - used)


def _processors_s() -> float:
    """Return what this process used until now, its parsers and the children that ended."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for process in workers.processes():
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) * _TICK_S
    return total


def _median(spent: Sequence[Spent]) -> Spent:
    return Spent(
        statistics.median(one.wall_s for one in spent),
        statistics.median(one.cpu_s for one in spent),
    )
