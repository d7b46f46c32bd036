"""How well search finds what queries ask for, against plain porter BM25 over the same chunks.

    python -m benchmarks.kb_quality [--corpora FOLDER] [--set NAME] [--code|--held-out] [--json]

Prints per set, for plain and for ours: hits at 1, 3 and 10 and mean reciprocal rank by file, mean
reciprocal rank by section, how often the section's text is within the first 4,000 bytes, and in the
answer that is given by default, with that answer's bytes. Beside it what `grep` shows in as many
bytes, of the files that have the most of the query's words, and their heads and tails.
`--code` takes the sets of `benchmarks.kb_code`; `--held-out` those of `benchmarks.kb_held_out`, on
which no setting was chosen.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.kb_code import PACKAGES as CODE_PACKAGES
from benchmarks.kb_code import code_sets
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
    answered: float
    answer_bytes: float
    p50_ms: float
    p95_ms: float


ANSWER_HITS = 3
ANSWER_BYTES = 16_384
"""What `context-mode search` shows by default."""

ENDS_BYTES = 1024
"""Of a document's head, and of its tail."""

Searcher = Callable[[str], Sequence[Found]]
"""All hits to rank; others give what is returned within the bytes that count as evidence, and what
is answered by default."""


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


def grep_searcher(queries: QuerySet, *, ends: bool) -> Searcher:
    """The files that have the most distinct words of the query, as many as an answer has passages:
    their matching lines, or with `ends` their heads and tails."""
    texts = {document.label: document.data.lower() for document in queries.documents}

    def search(query: str) -> list[Found]:
        words = {word.lower().encode() for word in _TOKEN.findall(query)}
        counts = {label: sum(word in text for word in words) for label, text in texts.items()}
        best = sorted((label for label in texts if counts[label]), key=lambda one: -counts[one])
        found = []
        for label in best[:LIMIT]:
            size = len(texts[label])
            if ends:
                found += [Found(label, 0, min(ENDS_BYTES, size))]
                found += [Found(label, max(0, size - ENDS_BYTES), size)]
            else:
                found += _matching_lines(label, texts[label], words)
        return _within(found, ANSWER_BYTES)

    return search


def _matching_lines(label: str, text: bytes, words: set[bytes]) -> Iterator[Found]:
    start = 0
    for line in text.splitlines(keepends=True):
        if any(word in line for word in words):
            yield Found(label, start, start + len(line))
        start += len(line)


def _within(found: Sequence[Found], budget: int) -> list[Found]:
    shown = []
    for hit in found:
        budget -= hit.end - hit.start
        if budget < 0:
            break
        shown.append(hit)
    return shown


def our_answer(store: Store) -> Searcher:
    def search(query: str) -> list[Found]:
        (result,) = store.search(query, limit=ANSWER_HITS, budget_bytes=ANSWER_BYTES)
        return [Found(hit.source, hit.start_byte, hit.end_byte) for hit in result.hits]

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


def evaluate(
    targets: Sequence[Target], search: Searcher, evidence: Searcher, answer: Searcher
) -> Scores:
    """What `search` finds of each target; a file counts once, at its first chunk. `evidence` is
    asked besides for what it returns within the bytes that count, `answer` for all it shows."""
    file_ranks: list[int] = []
    section_ranks: list[int] = []
    evident: list[bool] = []
    answered: list[bool] = []
    sizes: list[int] = []
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
        shown = answer(target.query)
        answered.append(any(_in_section(hit, target) for hit in shown))
        sizes.append(sum(hit.end - hit.start for hit in shown))
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
        answered=sum(answered) / count,
        answer_bytes=statistics.fmean(sizes),
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


def measure(queries: QuerySet, folder: Path) -> dict[str, Scores]:
    """The scores of each way to search one set, over one store that is made for it."""
    path = folder / f"{queries.name}.db"
    with Store.open(path) as store:
        for document in queries.documents:
            store.add(SourceSpec(document.label, name=document.label, origin="file"), document.data)
        plain = plain_searcher(path)
        ours = (our_searcher(store), our_evidence_searcher(store), our_answer(store))
        grep, ends = (grep_searcher(queries, ends=ends) for ends in (False, True))
        return {
            "ends": evaluate(queries.targets, ends, ends, ends),
            "grep": evaluate(queries.targets, grep, grep, grep),
            "plain": evaluate(queries.targets, plain, plain, _first(plain)),
            "ours": evaluate(queries.targets, *ours),
        }


def _first(search: Searcher) -> Searcher:
    return lambda query: search(query)[:ANSWER_HITS]


Measured = Iterator[tuple[QuerySet, dict[str, Scores]]]


def print_results(results: Measured) -> None:
    columns = "F@1   F@3   F@10  fMRR  sMRR  4000B  shown  bytes   p50    p95 ms"
    print(f"{'set':12}{'queries':>8}  {'search':6}  {columns}")
    means: defaultdict[str, list[float]] = defaultdict(list)
    for queries, ways in results:
        for name, scores in ways.items():
            means[name].append(scores.file_mrr)
            print(
                f"{queries.name:12}{len(queries.targets):8}  {name:6}  {scores.at_1:.3f} "
                f"{scores.at_3:.3f} {scores.at_10:.3f} {scores.file_mrr:.3f} "
                f"{scores.section_mrr:.3f} {scores.evidence:.3f}  {scores.answered:.3f} "
                f"{scores.answer_bytes:6.0f} {scores.p50_ms:6.2f} {scores.p95_ms:6.2f}",
                flush=True,
            )
    for name, values in means.items():
        print(f"mean file MRR, {name}: {statistics.fmean(values):.4f}")


def as_json(results: Measured) -> str:
    rows = [
        {"name": queries.name, "queries": len(queries.targets)}
        | {name: asdict(scores) for name, scores in ways.items()}
        for queries, ways in results
    ]
    return json.dumps({"sets": rows}, indent=2)


def measure_all(sets: Sequence[QuerySet]) -> Measured:
    for queries in sets:
        with tempfile.TemporaryDirectory() as folder:
            yield queries, measure(queries, Path(folder))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--corpora", type=Path, default=Path(tempfile.gettempdir()) / "corpora")
    arguments.add_argument("--set", action="append", help="only sets of this name")
    arguments.add_argument("--held-out", action="store_true", help="sets that nothing was tuned on")
    arguments.add_argument("--code", action="store_true", help="sets of code")
    arguments.add_argument("--json", action="store_true", help="the held-out sets, as JSON")
    given = arguments.parse_args()
    if given.held_out or given.json:
        sets = held_out_sets(fetch(given.corpora, PACKAGES))
    elif given.code:
        sets = code_sets(fetch(given.corpora, CODE_PACKAGES))
    else:
        sets = query_sets(fetch(given.corpora))
    chosen = [queries for queries in sets if not given.set or queries.name in given.set]
    if given.json:
        print(as_json(measure_all(chosen)))
    else:
        print_results(measure_all(chosen))


if __name__ == "__main__":
    main()
