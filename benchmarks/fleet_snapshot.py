"""How long a look at a project takes before a run of it is sent, and which blobs are new.

The engine is a set of digests in this process: how long a real one takes to be asked is no part of
it. The bar: an unchanged project of 1,000 files sends no blob and takes at most 50 ms; of one whose
file changed, that file travels, and the folders above it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Report, Row, Times, summary
from executor.project.view.listing import SETTLED_NS
from executor.project.view.search import ProjectSearch
from fleet.known_digests import KnownDigests
from fleet.snapshot import Snapshot, take
from fleet.travel import Terms
from fleet.tree import Digest

FOLDERS, FILES_EACH, FILE_BYTES = 50, 20, 4_900
ROUNDS = 20
BAR_MS = 50.0


def make_project(project: Path) -> None:
    """Write 1,000 files of lines, each another one, in folders two deep."""
    for folder in range(FOLDERS):
        below = project / f"part{folder % 5}" / f"room{folder}"
        below.mkdir(parents=True)
        for number in range(FILES_EACH):
            line = f"def step_{folder}_{number}(value): return value * {number}\n"
            text = line * (FILE_BYTES // len(line))
            (below / f"step{number}.py").write_text(text)


def timed(look: Callable[[], Snapshot], rounds: int) -> tuple[Snapshot, Times]:
    """The last of several looks, and how long they took."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        snapshot = look()
        took.append(time.perf_counter() - began)
    return snapshot, summary(took)


def measure(folder: Path, report: Report, _: str) -> None:
    """Add the looks to a report: the first, of an unchanged project, and of a changed one."""
    project, cache = folder / "project", folder / "digests"
    make_project(project)
    # What changed this recently is not kept by its times: it is waited for until it may be.
    time.sleep(SETTLED_NS / 1e9 + 0.1)
    search = ProjectSearch(project)
    kept = KnownDigests(cache)
    first, took = timed(lambda: take(search, Terms(), kept), 1)
    engine: set[Digest] = set(first.digests)
    report.add(Row("first look at 1,000 files", took))

    unchanged, took = timed(lambda: take(search, Terms(), kept), ROUNDS)
    report.add(Row(f"unchanged, by the same front (bar {BAR_MS:.0f} ms)", took))
    again, took = timed(lambda: take(ProjectSearch(project), Terms(), KnownDigests(cache)), ROUNDS)
    report.add(Row("unchanged, by a front that has just begun", took))

    (project / "part3/room3/step7.py").write_text("def step(value): return value\n")
    changed, took = timed(lambda: take(search, Terms(), kept), 1)
    report.add(Row("one file changed", took))

    report.figures |= {
        "first_blobs": len(first.digests),
        "first_bytes": sum(one.size_bytes for one in set(first.digests)),
        "unchanged_blobs": len(new(unchanged, engine)) + len(new(again, engine)),
        "changed_blobs": len(new(changed, engine)),
        "changed_bytes": sum(one.size_bytes for one in new(changed, engine)),
    }
    report.notes += ("blobs are those that the engine lacks; it is a set of digests here",)


def new(snapshot: Snapshot, engine: set[Digest]) -> set[Digest]:
    """The blobs of a snapshot that the engine lacks."""
    return set(snapshot.digests) - engine
