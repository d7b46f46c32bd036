"""How long searches take among a million chunks.

    python -m benchmarks.kb_million --yes [--corpora FOLDER] [--chunks N]

Takes some minutes, and about 2 GB of disk. The corpus of some 80,000 chunks is repeated with names
suffixed per copy; the queries are those of all sets.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks.kb import QUERIES, TimedSearch, repeated, timed
from benchmarks.kb_corpora import fetch, mixed_documents, query_sets
from benchmarks.kb_quality import our_searcher
from kb import Store
from kb.model import SourceSpec

CORPUS_CHUNKS = 80_000
_STEP = 100


def fill(store: Store, folder: Path, wanted: int) -> int:
    """Index copies of the corpus until there are so many chunks; returns the bytes of text."""
    documents = []
    size, chunks = 0, 0.0
    for document in mixed_documents(folder):
        documents.append(document)
        chunks += len(document.data) / 1100  # as large as chunks are on average
        if chunks >= CORPUS_CHUNKS:
            break
    stream = repeated(documents)
    stored = 0
    while stored < wanted:
        with store.bulk() as bulk:
            for document in islice(stream, _STEP):
                name = document.label.partition(" copy ")[0]
                bulk.add(SourceSpec(document.label, origin="file", name=name), document.data)
        stored += sum(indexed.chunks for indexed in bulk.indexed)
        size += bulk.bytes_indexed
    return size


def report(store: Store, searches: TimedSearch, what: str) -> None:
    print(
        f"{store.stats().chunks} chunks, {what}: processor p50 {searches.cpu_p50:.1f}"
        f" p95 {searches.cpu_p95:.1f} ms, wall p50 {searches.wall_p50:.1f}"
        f" p95 {searches.wall_p95:.1f} ms, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--chunks", type=int, default=1_000_000)
    arguments.add_argument("--yes", action="store_true", help="really take minutes and gigabytes")
    given = arguments.parse_args()
    if not given.yes:
        arguments.error("this takes minutes and about 2 GB of disk: say --yes")
    folder = fetch(given.corpora)
    queries = [t.query for s in query_sets(folder) for t in s.targets]
    random.Random(1).shuffle(queries)
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "kb.db") as store:
        started, used = time.perf_counter(), time.process_time()
        size = fill(store, folder, given.chunks)
        store.checkpoint()
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        ratio = store.stats().file_bytes / size
        print(
            f"{size / 1e6:.0f} MB of text in {wall:.0f} s, {cpu:.0f} s of them the storing"
            f" process's own; file/text {ratio:.2f}",
            flush=True,
        )
        report(store, timed(our_searcher(store), queries[:QUERIES]), "10 hits")


if __name__ == "__main__":
    main()
