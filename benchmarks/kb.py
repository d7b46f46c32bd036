"""How fast the knowledge base chunks, indexes and searches, and how much room it takes.

    python -m benchmarks.kb [--corpora FOLDER] [--chunks N] [--only PART] [--json]

Rates are of source bytes by processor time, that of the workers included, so that other work on
the machine does not count; only with two workers it is time as it passes, since that is what they
are for. Searches are compared with plain porter BM25 over the same chunks in the same run. With
`--json` it is what takes a minute, as `benchmarks.all` wants it: up to 10,000 chunks.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import kb
from benchmarks.kb_corpora import Document, fetch, mixed_documents, query_sets
from benchmarks.kb_quality import our_searcher, plain_searcher
from benchmarks.report import Report, Row, Times, show
from kb import Store
from kb.chunking import chunk_here
from kb.detect import detect
from kb.model import SourceSpec
from kb.workers import WORKERS, pool

ROUNDS = 3
WORKERS_MEGABYTES = 20
STEPS = (1_000, 10_000, 40_000, 80_000, 200_000, 1_000_000)
QUICK_CHUNKS = 10_000
QUERIES = 400
FILES = 5_000


@dataclass(frozen=True, slots=True)
class TimedSearch:
    """Medians and 95th percentiles in milliseconds: of processor time, which other work on the
    machine does not count in, and of time as it passes."""

    cpu_p50: float
    cpu_p95: float
    wall_p50: float
    wall_p95: float


@dataclass(frozen=True, slots=True)
class Step:
    """What holds at so many chunks; the rate is that since the step before, per second of processor
    time, the start of the workers included."""

    chunks: int
    megabytes: float
    megabytes_a_second: float
    ours: TimedSearch
    plain: TimedSearch
    file_of_text: float


def chunk_rates(folder: Path) -> None:
    """Chunking alone, by kind."""
    sizes: defaultdict[str, int] = defaultdict(int)
    seconds: defaultdict[str, float] = defaultdict(float)
    chunks: defaultdict[str, int] = defaultdict(int)
    chunk_here(b"x = 1", detect(b"", name="a.py"))  # the grammar loads
    for document in mixed_documents(folder):
        detected = detect(document.data, name=document.label)
        started = time.process_time()
        chunked = chunk_here(document.data, detected)
        elapsed = time.process_time() - started
        kind = f"{chunked.kind} {chunked.language or ''}"
        sizes[kind] += len(document.data)
        seconds[kind] += elapsed
        chunks[kind] += len(chunked)
    print("chunking                    MB   MB/s  bytes a chunk")
    for kind in sorted(sizes, key=lambda kind: -sizes[kind]):
        if sizes[kind] > 100_000:
            rate = sizes[kind] / seconds[kind] / 1e6
            print(f"{kind:24}{sizes[kind] / 1e6:7.1f}{rate:7.1f}{sizes[kind] // chunks[kind]:8}")


def repeated(documents: Sequence[Document]) -> Iterator[Document]:
    """The documents, and copies of them with suffixed names for as long as any are wanted."""
    yield from documents
    copy = 1
    while True:
        for document in documents:
            yield Document(f"{document.label} copy {copy}", document.data)
        copy += 1


def growth(folder: Path, limit: int) -> Iterator[Step]:
    """Indexing rate, search times and size at growing numbers of chunks."""
    queries = [t.query for s in query_sets(folder) for t in s.targets]
    random.Random(1).shuffle(queries)
    documents = list(mixed_documents(folder))
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        size = chunks = text = 0
        steps = [step for step in STEPS if step <= limit]
        since_size, seconds = 0, 0.0
        for document in repeated(documents):
            name = document.label.partition(" copy ")[0]
            started = used()
            added = store.add(SourceSpec(document.label, name=name), document.data)
            seconds += used() - started
            chunks += added.chunks
            text += added.bytes_total
            size += len(document.data)
            if chunks < steps[0]:
                continue
            steps.pop(0)
            ours = timed(our_searcher(store), queries[:QUERIES])
            plain = timed(plain_searcher(store.path), queries[:QUERIES])
            store.checkpoint()
            ratio = store.stats().file_bytes / text
            rate = (size - since_size) / seconds / 1e6
            yield Step(chunks, size / 1e6, rate, ours, plain, ratio)
            since_size, seconds = size, 0.0
            if not steps:
                return


def first_rates(folder: Path) -> Iterator[tuple[str, float]]:
    """Megabytes indexed in a second of processor time up to the first step, in a new store: with
    workers that start and with workers that are there; the best of some rounds in turn."""
    documents = list(islice(mixed_documents(folder), STEPS[0]))
    rates: dict[str, list[float]] = {"workers starting": [], "workers ready": []}
    for _ in range(2 * ROUNDS):
        for how, found in rates.items():
            if how == "workers starting":
                pool.restart()
            found.append(_first_rate(documents))
    yield from ((how, max(found)) for how, found in rates.items())


def _first_rate(documents: Sequence[Document]) -> float:
    size = chunks = 0
    started = used()
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        for document in documents:
            chunks += store.add(
                SourceSpec(document.label, name=document.label), document.data
            ).chunks
            size += len(document.data)
            if chunks >= STEPS[0]:
                break
        return size / (used() - started) / 1e6


def print_growth(steps: Iterator[Step]) -> None:
    print("\nprocessor time:                          ours ms       plain ms    ours, as it passes")
    print("chunks      MB  MB/s since    p50     p95     p50     p95     p50     p95  file/text")
    for step in steps:
        ours, plain = step.ours, step.plain
        print(
            f"{step.chunks:8}{step.megabytes:8.1f}{step.megabytes_a_second:10.2f}"
            f"{ours.cpu_p50:9.2f}{ours.cpu_p95:8.2f}{plain.cpu_p50:8.2f}{plain.cpu_p95:8.2f}"
            f"{ours.wall_p50:8.2f}{ours.wall_p95:8.2f}{step.file_of_text:9.2f}",
            flush=True,
        )


def report(folder: Path) -> Report:
    """Searches by processor time, as rows; rates and sizes as figures."""
    made = Report("kb", notes=("searches in processor time, beside plain porter BM25",))
    for step in growth(folder, QUICK_CHUNKS):
        what = f"{step.chunks} chunks"
        made.add(Row(f"search, {what}", _times(step.ours), _times(step.plain)))
        made.figures[f"megabytes indexed per cpu second, up to {what}"] = step.megabytes_a_second
        made.figures[f"file in per cent of the text, {what}"] = 100 * step.file_of_text
    for how, rate in first_rates(folder):
        made.figures[f"megabytes indexed per cpu second, to {STEPS[0]} chunks, {how}"] = rate
    for what, milliseconds in reindex():
        made.figures[f"{what}, ms"] = milliseconds
    return made


def _times(search: TimedSearch) -> Times:
    return Times(search.cpu_p50, search.cpu_p95, QUERIES)


def used() -> float:
    """Processor time of this process and of its workers, in seconds."""
    ticks = 0
    for process_id in pool.processes():
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def timed(search: Callable[[str], object], queries: Sequence[str]) -> TimedSearch:
    for query in queries[:20]:
        search(query)
    cpu: list[float] = []
    wall: list[float] = []
    for query in queries:
        started, used = time.perf_counter(), time.process_time()
        search(query)
        cpu.append((time.process_time() - used) * 1000)
        wall.append((time.perf_counter() - started) * 1000)
    cpu.sort()
    wall.sort()
    middle, high = len(queries) // 2, len(queries) * 95 // 100
    return TimedSearch(cpu[middle], cpu[high], wall[middle], wall[high])


def reindex() -> Iterator[tuple[str, float]]:
    """A folder again: nothing changed, then one file; in milliseconds of processor time."""
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        root = Path(place) / "files"
        for n in range(FILES):
            path = root / f"{n % 50}" / f"{n}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# File {n}\n\n" + f"words of file {n}\n" * 20)
        for what in ("new", "unchanged", "one changed"):
            if what == "one changed":
                (root / "1/1.md").write_text("# Changed\n")
            started = time.process_time()
            report = kb.index_paths(store, root)
            elapsed = time.process_time() - started
            counted = f"{len(report.indexed)} indexed"
            yield f"{FILES} files, {what}, {counted}", elapsed * 1000
        path = root / "1/1.md"
        path.write_text("# Changed again\n")
        started = time.process_time()
        kb.index_file(store, path, root)
        yield "one changed file by itself", (time.process_time() - started) * 1000


def workers(folder: Path, megabytes: int) -> None:
    """Indexing on one core alone, and with the workers on two; in turn, as the machine may be
    busy with other things. Start-up is part of it."""
    documents: list[Document] = []
    size = 0
    for document in mixed_documents(folder):
        documents.append(document)
        size += len(document.data)
        if size > megabytes * 1e6:
            break
    cores = os.sched_getaffinity(0)
    rates: dict[str, list[float]] = {"one core": [], "two workers": []}
    for _ in range(ROUNDS):
        for how, found in rates.items():
            os.sched_setaffinity(0, {min(cores)} if how == "one core" else cores)
            pool.restart()  # with this affinity
            started = time.perf_counter()
            _index(documents, at_once=how != "one core")
            found.append(size / (time.perf_counter() - started) / 1e6)
    os.sched_setaffinity(0, cores)
    one, two = (max(found) for found in rates.values())
    print(
        f"\n{size / 1e6:.0f} MB: {one:.2f} MB/s on one core, {two:.2f} with {WORKERS} workers, "
        f"{two / one:.2f} times; best of {ROUNDS} in turn, load {os.getloadavg()[0]:.1f}"
    )


def _index(documents: Sequence[Document], *, at_once: bool) -> None:
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        if not at_once:
            for document in documents:
                store.add(SourceSpec(document.label, name=document.label), document.data)
            return
        with store.bulk() as bulk:
            for document in documents:
                about = SourceSpec(document.label, origin="file", name=document.label)
                bulk.add(about, document.data)


PARTS = ("chunking", "first", "growth", "workers", "reindex")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--chunks", type=int, default=80_000)
    arguments.add_argument("--only", choices=PARTS, action="append", help="not all of it")
    arguments.add_argument("--json", action="store_true", help="the quick part of it, as JSON")
    given = arguments.parse_args()
    wanted = given.only or PARTS
    folder = fetch(given.corpora)
    if given.json:
        show(report(folder), as_json=True)
        return
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    if "chunking" in wanted:
        chunk_rates(folder)
    if "first" in wanted:
        for how, rate in first_rates(folder):
            print(f"up to {STEPS[0]} chunks, {how}: {rate:.2f} MB/s, best of {2 * ROUNDS}")
    if "growth" in wanted:
        print_growth(growth(folder, given.chunks))
    if "workers" in wanted:
        workers(folder, WORKERS_MEGABYTES)
    if "reindex" in wanted:
        for what, milliseconds in reindex():
            print(f"{what}: {milliseconds:.1f} ms")


if __name__ == "__main__":
    main()
