"""How fast the knowledge base chunks, indexes and searches, and how much room it takes.

    python -m benchmarks.kb [--corpora FOLDER] [--chunks N] [--large MIB]

Rates are of source bytes by the processor time of one core, so that other work on the machine
does not count. Searches are compared with plain porter BM25 over the same
chunks in the same run. `--large` indexes a log of that size through the queue and tells the peak
memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import kb
from benchmarks.kb_corpora import Document, fetch, mixed_documents, query_sets
from benchmarks.kb_quality import our_searcher, plain_searcher
from kb import Store

STEPS = (1_000, 10_000, 40_000, 80_000, 200_000, 1_000_000)
QUERIES = 400
FILES = 5_000


def chunk_rates(folder: Path) -> None:
    """Chunking alone, by kind."""
    sizes: defaultdict[str, int] = defaultdict(int)
    seconds: defaultdict[str, float] = defaultdict(float)
    chunks: defaultdict[str, int] = defaultdict(int)
    kb.chunk(b"x = 1", name="a.py")  # the grammar loads
    for document in mixed_documents(folder):
        started = time.process_time()
        chunked = kb.chunk(document.data, name=document.label)
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


def growth(folder: Path, limit: int) -> None:
    """Indexing rate, search times and size at growing numbers of chunks."""
    queries = [t.query for s in query_sets(folder) for t in s.targets]
    random.Random(1).shuffle(queries)
    documents = list(mixed_documents(folder))
    print("\nchunks      MB  MB/s since  ours p50/p95 ms  plain p50/p95 ms  file/text")
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        size = chunks = 0
        steps = [step for step in STEPS if step <= limit]
        since_size, seconds = 0, 0.0
        for document in repeated(documents):
            name = document.label.partition(" copy ")[0]
            started = time.process_time()
            chunks += store.add(document.label, document.data, name=name).chunks
            seconds += time.process_time() - started
            size += len(document.data)
            if chunks < steps[0]:
                continue
            steps.pop(0)
            ours = timed(our_searcher(store), queries[:QUERIES])
            plain = timed(plain_searcher(store.path), queries[:QUERIES])
            store.checkpoint()
            ratio = store.stats().file_bytes / size
            print(
                f"{chunks:8}{size / 1e6:8.1f}{(size - since_size) / seconds / 1e6:10.2f}"
                f"{ours[0]:12.2f} /{ours[1]:7.2f}{plain[0]:10.2f} /{plain[1]:7.2f}{ratio:9.2f}",
                flush=True,
            )
            since_size, seconds = size, 0.0
            if not steps:
                return


@dataclass(frozen=True, slots=True)
class TimedSearch:
    """Medians and 95th percentiles in milliseconds: of processor time, which other work on the
    machine does not count in, and of time as it passes."""

    cpu_p50: float
    cpu_p95: float
    wall_p50: float
    wall_p95: float


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


def reindex() -> None:
    """A folder again: nothing changed, then one file."""
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
            print(f"{FILES} files, {what}: {elapsed * 1000:.0f} ms, {len(report.indexed)} indexed")
        path = root / "1/1.md"
        path.write_text("# Changed again\n")
        started = time.process_time()
        kb.index_file(store, path, root)
        print(f"one changed file by itself: {(time.process_time() - started) * 1000:.1f} ms")


def large(mebibytes: int) -> None:
    """A log that is larger than memory should bear, through the queue."""
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        spool = Path(place) / "spool"
        line = "2024-05-01 10:00:{:02d} INFO worker {} finished job {} in {} ms\n"
        with spool.open("w") as stream:
            n = 0
            while stream.tell() < mebibytes << 20:
                lines = (line.format(k % 60, k % 17, k, k % 997) for k in range(n, n + 999))
                stream.writelines(lines)
                n += 999
        started = time.process_time()
        store.add_spool("large", spool)
        first = time.process_time() - started
        while not store.index_pending().complete:
            pass
        elapsed = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{mebibytes} MiB log: searchable after {first:.2f} s, whole after {elapsed:.1f} s "
            f"({mebibytes / elapsed:.1f} MiB/s), peak memory {peak:.0f} MiB"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--chunks", type=int, default=80_000)
    arguments.add_argument("--large", type=int, metavar="MIB", help="only the large log")
    given = arguments.parse_args()
    if given.large:
        large(given.large)
        return
    folder = fetch(given.corpora)
    chunk_rates(folder)
    growth(folder, given.chunks)
    reindex()


if __name__ == "__main__":
    main()
