"""How well search finds what queries ask for, against plain porter BM25 over the same chunks.

    python -m benchmarks.kb_quality [--corpora FOLDER] [--set NAME] [--held-out] [--json]

Prints per set, for plain and for ours: hits at 1, 3 and 10 and mean reciprocal rank by file, mean
reciprocal rank by section, and how often the section's text is within the first 4,000 bytes.
`--held-out` takes the sets of `benchmarks.kb_held_out`, on which no setting was chosen.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.kb_corpora import QuerySet, Target, fetch, query_sets
from benchmarks.kb_held_out import PACKAGES, held_out_sets
from kb import Store, compression
from kb.model import SourceSpec

LIMIT = 10
EVIDENCE_BYTES = 4000
EVIDENCE_HITS = 8
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk that was returned."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Shares and means over one set's queries; times in milliseconds."""

    at_1: float
    at_3: float
    at_10: float
    file_mrr: float
    section_mrr: float
    evidence: float
    p50_ms: float
    p95_ms: float


Searcher = Callable[[str], Sequence[Found]]
"""All hits to rank; a second one gives what is returned within the bytes that count as evidence."""


def plain_searcher(store_path: Path) -> Searcher:
    """Any of the words, porter, BM25 with equal weights, over the chunks of the store."""
    db = sqlite3.connect(":memory:")
    compression.register(db)
    db.execute("ATTACH ? AS kept", (str(store_path),))
    db.execute("CREATE VIRTUAL TABLE plain USING fts5(title, body, tokenize='porter unicode61')")
    db.execute(
        "INSERT INTO plain (rowid, title, body)"
        " SELECT id, crumb || ' > ' || leaf, chunk_text(body) FROM kept.chunk"
    )
    db.commit()  # else it would keep the store's write-ahead log from being emptied

    def search(query: str) -> list[Found]:
        words = dict.fromkeys(_TOKEN.findall(query))
        expression = " OR ".join(f'"{word}"' for word in words)
        ids = [
            rowid
            for (rowid,) in db.execute(
                "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?",
                (expression, LIMIT),
            )
        ]
        rows = (
            db.execute(
                "SELECT s.label, c.start_byte, c.end_byte, chunk_text(c.body) FROM kept.chunk c"
                " JOIN kept.source s ON s.id = c.source_id WHERE c.id = ?",
                (rowid,),
            ).fetchone()
            for rowid in ids
        )
        return [Found(*row[:3]) for row in rows]

    return search


def our_searcher(store: Store) -> Searcher:
    def search(query: str) -> list[Found]:
        (result,) = store.search(query, limit=LIMIT)
        return [Found(hit.source, hit.start_byte, hit.end_byte) for hit in result.hits]

    return search


def our_evidence_searcher(store: Store) -> Searcher:
    def search(query: str) -> list[Found]:
        (result,) = store.search(query, limit=EVIDENCE_HITS, budget_bytes=EVIDENCE_BYTES)
        return [Found(hit.source, hit.start_byte, hit.end_byte) for hit in result.hits]

    return search


def evaluate(targets: Sequence[Target], search: Searcher, evidence: Searcher) -> Scores:
    """What `search` finds of each target; a file counts once, at its first chunk. `evidence` is
    asked besides for what it returns within the bytes that count."""
    file_ranks: list[int] = []
    section_ranks: list[int] = []
    evident: list[bool] = []
    times: list[float] = []
    for target in targets:
        started = time.process_time()
        found = search(target.query)
        times.append((time.process_time() - started) * 1000)
        files = list(dict.fromkeys(hit.label for hit in found))
        file_ranks.append(files.index(target.label) + 1 if target.label in files else 0)
        within = [_in_section(hit, target) for hit in found]
        section_ranks.append(within.index(True) + 1 if any(within) else 0)
        evident.append(_evident(evidence(target.query), target))
    times.sort()
    count = len(targets)
    at_1, at_3, at_10 = (sum(0 < rank <= at for rank in file_ranks) / count for at in (1, 3, 10))
    return Scores(
        at_1,
        at_3,
        at_10,
        file_mrr=statistics.fmean(1 / rank if rank else 0.0 for rank in file_ranks),
        section_mrr=statistics.fmean(1 / rank if rank else 0.0 for rank in section_ranks),
        evidence=sum(evident) / count,
        p50_ms=times[count // 2],
        p95_ms=times[count * 95 // 100],
    )


def _in_section(hit: Found, target: Target) -> bool:
    return hit.label == target.label and hit.start < target.end and hit.end > target.start


def _evident(returned: Sequence[Found], target: Target) -> bool:
    """Whether text of the section is within the first bytes that are returned."""
    left = EVIDENCE_BYTES
    for hit in returned:
        shown = Found(hit.label, hit.start, min(hit.end, hit.start + left))
        if left <= 0 or _in_section(shown, target):
            return left > 0
        left -= hit.end - hit.start
    return False


def measure(queries: QuerySet, folder: Path) -> tuple[Scores, Scores]:
    """Plain's and our scores on one set, over one store that is made for it."""
    path = folder / f"{queries.name}.db"
    with Store.open(path) as store:
        for document in queries.documents:
            store.add(SourceSpec(document.label, name=document.label, origin="file"), document.data)
        plain = plain_searcher(path)
        return (
            evaluate(queries.targets, plain, plain),
            evaluate(queries.targets, our_searcher(store), our_evidence_searcher(store)),
        )


def print_results(results: Iterator[tuple[QuerySet, Scores, Scores]]) -> None:
    columns = "F@1   F@3   F@10  fMRR  sMRR  4000B  p50    p95 ms"
    print(f"{'set':12}{'queries':>8}  {'search':6}  {columns}")
    means: dict[str, list[float]] = {"plain": [], "ours": []}
    for queries, *both in results:
        for name, scores in zip(means, both, strict=True):
            means[name].append(scores.file_mrr)
            print(
                f"{queries.name:12}{len(queries.targets):8}  {name:6}  {scores.at_1:.3f} "
                f"{scores.at_3:.3f} {scores.at_10:.3f} {scores.file_mrr:.3f} "
                f"{scores.section_mrr:.3f} {scores.evidence:.3f}  {scores.p50_ms:5.2f}  "
                f"{scores.p95_ms:5.2f}",
                flush=True,
            )
    for name, values in means.items():
        print(f"mean file MRR, {name}: {statistics.fmean(values):.4f}")


def as_json(results: Iterator[tuple[QuerySet, Scores, Scores]]) -> str:
    rows = [
        {"name": queries.name, "queries": len(queries.targets)}
        | {"plain": asdict(plain), "ours": asdict(ours)}
        for queries, plain, ours in results
    ]
    return json.dumps({"sets": rows}, indent=2)


def measured(sets: Sequence[QuerySet]) -> Iterator[tuple[QuerySet, Scores, Scores]]:
    for queries in sets:
        with tempfile.TemporaryDirectory() as folder:
            yield queries, *measure(queries, Path(folder))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--set", action="append", help="only sets of this name")
    arguments.add_argument("--held-out", action="store_true", help="sets that nothing was tuned on")
    arguments.add_argument("--json", action="store_true", help="the held-out sets, as JSON")
    given = arguments.parse_args()
    if given.held_out or given.json:
        sets = held_out_sets(fetch(given.corpora, PACKAGES))
    else:
        sets = query_sets(fetch(given.corpora))
    chosen = [queries for queries in sets if not given.set or queries.name in given.set]
    if given.json:
        print(as_json(measured(chosen)))
    else:
        print_results(measured(chosen))


if __name__ == "__main__":
    main()
