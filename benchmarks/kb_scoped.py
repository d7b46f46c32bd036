"""Whether a filtered search answers alike in a store of its own and in a large one; its cost.

    python -m benchmarks.kb_scoped [--corpora FOLDER] [--chunks N]

Indexes 18 files of Python's library under one prefix, alone and beside N other chunks, and asks
both stores the same questions with the same filter. Prints how many answers are the same, hit by
hit, and the processor time of a search with the filter and of one without.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kb_corpora import (
    SEED,
    Document,
    Target,
    fetch,
    mistyped,
    mixed_documents,
    python_code,
)
from kb import Store
from kb.model import SourceSpec

FILES = 18
PREFIX = "mine/"
LIMIT = 10


def fill(store: Store, documents: Sequence[Document], prefix: str = "", chunks: int = 0) -> None:
    """Add documents, as far as there are fewer than so many chunks, if any number is given."""
    for document in documents:
        if chunks and store.stats().chunks >= chunks:
            return
        label = prefix + document.label
        store.add(SourceSpec(label, name=label, path=f"/{label}", origin="file"), document.data)


def ask(store: Store, query: str, source: str | None) -> tuple[list[object], float]:
    """The hits of one search, and its milliseconds of processor time."""
    started = time.process_time()
    (result,) = store.search(query, limit=LIMIT, source=source)
    took_ms = (time.process_time() - started) * 1000
    hits: list[object] = [
        (hit.source, hit.start_byte, hit.end_byte, round(hit.score, 6)) for hit in result.hits
    ]
    return hits, took_ms


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--chunks", type=int, default=60_000)
    given = arguments.parse_args()
    library = python_code()
    asked = {target.label for target in library.targets}
    mine = [one for one in library.documents if one.label in asked]
    random.Random(SEED).shuffle(mine)
    mine = mine[:FILES]
    labels = {document.label for document in mine}
    targets: list[Target] = [one for one in library.targets if one.label in labels]
    queries = [one.query for target in targets for one in (target, mistyped(target))]
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "alone.db") as alone,
        Store.open(Path(folder) / "beside.db") as beside,
    ):
        fill(alone, mine, PREFIX)
        fill(beside, mine, PREFIX)
        fill(beside, list(mixed_documents(fetch(given.corpora))), chunks=given.chunks)
        pairs = [
            (ask(alone, query, PREFIX), ask(beside, query, PREFIX), ask(beside, query, None))
            for query in queries
        ]
        same = sum(one[0] == other[0] for one, other, _ in pairs)
        print(f"{alone.stats().chunks} chunks, {beside.stats().chunks} with the others")
    print(f"{same} of {len(pairs)} answers are the same")
    for name, at in (("alone", 0), ("beside the others", 1), ("of all", 2)):
        times = sorted(pair[at][1] for pair in pairs)
        p95 = times[len(times) * 95 // 100]
        print(f"{name:18} p50 {statistics.median(times):6.2f} ms  p95 {p95:6.2f} ms")


if __name__ == "__main__":
    main()
