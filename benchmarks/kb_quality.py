"""Search quality: how often search finds what queries ask for, beside other ways to search.

Beside it are plain porter BM25 over the same chunks, and what `grep` shows of the files with most
of the query's words, or their heads and tails, in as many bytes.
"""

from __future__ import annotations

import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Bench, measure
from benchmarks.kb_sets import CORPORA, SETS, Target, make_set
from kb import Store, compression
from kb.model import SourceSpec

LIMIT = 10
EVIDENCE_HITS, EVIDENCE_BYTES = 8, 4000
ANSWER_HITS, ANSWER_BYTES = 3, 16_384  # what `context-mode search` shows by default
ENDS_BYTES = 1024  # of a document's head, and of its tail
_TOKEN = re.compile(r"\w+")


Searcher = Callable[[str], Sequence[Target]]


def our_searcher(store: Store, limit: int = LIMIT, budget_bytes: int | None = None) -> Searcher:
    """Return what searches a store."""

    def search(query: str) -> list[Target]:
        (result,) = store.search(query, limit=limit, budget_bytes=budget_bytes)
        return [Target(query, hit.source, hit.start_byte, hit.end_byte) for hit in result.hits]

    return search


def plain_searcher(store_path: Path) -> Searcher:
    """Return what searches for any of the words: porter, BM25 with equal weights, same chunks."""
    db = sqlite3.connect(":memory:")
    compression.register(db)
    db.execute("ATTACH ? AS kept", (str(store_path),))
    db.execute("CREATE VIRTUAL TABLE plain USING fts5(title, body, tokenize='porter unicode61')")
    db.execute(
        "INSERT INTO plain (rowid, title, body)"
        " SELECT id, crumb || ' > ' || leaf, chunk_text(body) FROM kept.chunk"
    )
    db.commit()  # else it would keep the store's write-ahead log from being emptied

    def search(query: str) -> list[Target]:
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(_TOKEN.findall(query)))
        ids = db.execute(
            "SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?", (expression, LIMIT)
        ).fetchall()
        rows = (
            # The text is read, too, as whoever answers has to.
            db.execute(
                "SELECT s.label, c.start_byte, c.end_byte, chunk_text(c.body) FROM kept.chunk c"
                " JOIN kept.source s ON s.id = c.source_id WHERE c.id = ?",
                row,
            ).fetchone()
            for row in ids
        )
        return [Target(query, *row[:3]) for row in rows]

    return search


def grep_searcher(documents: Mapping[str, bytes], *, ends: bool) -> Searcher:
    """Return what shows lines of the files with most of the query's words, or heads and tails."""
    texts = {label: data.lower() for label, data in documents.items()}

    def show(label: str, words: set[bytes]) -> Iterator[Target]:
        size = len(texts[label])
        if ends:
            yield Target("", label, 0, min(ENDS_BYTES, size))
            yield Target("", label, max(0, size - ENDS_BYTES), size)
            return
        start = 0
        for line in texts[label].splitlines(keepends=True):
            if any(word in line for word in words):
                yield Target("", label, start, start + len(line))
            start += len(line)

    def search(query: str) -> list[Target]:
        words = {word.lower().encode() for word in _TOKEN.findall(query)}
        counts = {label: sum(word in text for word in words) for label, text in texts.items()}
        best = sorted((label for label in texts if counts[label]), key=lambda one: -counts[one])
        shown, budget = [], ANSWER_BYTES
        for hit in (hit for label in best[:LIMIT] for hit in show(label, words)):
            budget -= hit.end - hit.start
            if budget < 0:
                break
            shown.append(hit)
        return shown

    return search


def evaluate(
    targets: Sequence[Target], ranked: Searcher, evidence: Searcher, answer: Searcher
) -> tuple[dict[str, float], list[float]]:
    """Return shares and means over the queries, and the seconds of each search: of what a way to
    search ranks, what it shows within few bytes, and its whole answer."""
    files, sections, evident, answered, seconds = [], [], [], [], []
    for target in targets:
        began = time.process_time()
        found = ranked(target.query)
        seconds.append(time.process_time() - began)
        labels = list(dict.fromkeys(hit.label for hit in found))
        files.append(labels.index(target.label) + 1 if target.label in labels else 0)
        within = [hit.overlaps(target) for hit in found]
        sections.append(within.index(True) + 1 if any(within) else 0)
        evident.append(_is_evident(evidence(target.query), target))
        answered.append(any(hit.overlaps(target) for hit in answer(target.query)))
    figures = {
        "its file first": statistics.fmean(rank == 1 for rank in files),
        "its file among 10": statistics.fmean(rank > 0 for rank in files),
        "mean reciprocal rank by file": statistics.fmean(1 / r if r else 0.0 for r in files),
        "mean reciprocal rank by section": statistics.fmean(1 / r if r else 0.0 for r in sections),
        "in the first 4,000 bytes": statistics.fmean(evident),
        "in the answer": statistics.fmean(answered),
    }
    return figures, seconds


def _first(search: Searcher) -> Searcher:
    return lambda query: search(query)[:ANSWER_HITS]


def _is_evident(returned: Sequence[Target], target: Target) -> bool:
    """Tell whether text of the section is within the first bytes that are returned."""
    left = EVIDENCE_BYTES
    for hit in returned:
        if left <= 0 or replace(hit, end=min(hit.end, hit.start + left)).overlaps(target):
            return left > 0
        left -= hit.end - hit.start
    return False


@measure(80, sets="pycode", corpora=CORPORA)
def quality(bench: Bench) -> None:
    """Measure whether search finds what queries ask for, beside plain BM25 and grep."""
    wanted = bench.options["sets"]
    for name in SETS if wanted == "all" else wanted.split(","):
        documents, targets = make_set(name, bench.path("corpora"))
        targets = targets[: bench.rounds]
        path = bench.folder / f"{name}.db"
        with Store.open(path) as store:
            for label, data in documents.items():
                store.add(SourceSpec(label, name=label, origin="file"), data)
            plain, ours = plain_searcher(path), our_searcher(store)
            evidence = our_searcher(store, EVIDENCE_HITS, EVIDENCE_BYTES)
            answer = our_searcher(store, ANSWER_HITS, ANSWER_BYTES)
            figures, seconds = evaluate(targets, ours, evidence, answer)
            others, plain_seconds = evaluate(targets, plain, plain, _first(plain))
        for what, share in figures.items():
            bench.value(f"{name}: {what}", share, beside="plain BM25", other=others[what])
        for what, ends in (("grep", False), ("heads and tails", True)):
            grep = grep_searcher(documents, ends=ends)
            shares, _ = evaluate(targets, grep, grep, grep)
            bench.value(f"{name}: in the answer, by {what}", shares["in the answer"])
        bench.times(f"{name}: a search, of the processor", seconds, "plain BM25", plain_seconds)
        bench.notes.append(f"{name}: {len(targets)} queries of {len(documents):,} documents")
