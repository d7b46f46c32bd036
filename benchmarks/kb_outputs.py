"""How well search finds what is asked of outputs of tools: `python -m benchmarks.kb_outputs`.

    python -m benchmarks.kb_outputs [--outputs FOLDER] [--json]

Each output is made by its recipe (`benchmarks.kb_output_recipes`), kept as a run's output without a
name, and asked in its own source. A query's targets are ranges of bytes. Prints per output the mean
reciprocal rank of the first passage that holds some of it, and how often the target is within
4,000 bytes: of what search returns, of the lines `grep` finds for any word of the query, and of the
output's first and last 2,000 bytes. `--outputs` keeps the outputs there, for comparing two
versions on the same bytes.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.kb_output_recipes import RECIPES, Asked, Recipe, make
from benchmarks.report import argument_parser
from kb import SourceSpec, Store
from kb.detect import detect

EVIDENCE_BYTES = 4000
LIMIT = 10
_WORD = re.compile(r"\w{2,}")
_STOP = frozenset({"the", "in", "of", "did", "how", "many", "what", "which", "why", "were", "is"})


@dataclass(frozen=True, slots=True)
class Answered:
    """How one query did: its reciprocal rank, and whether its target was within the bytes."""

    rank: float
    search: bool
    grep: bool
    ends: bool


def outputs(folder: Path) -> Iterator[tuple[Recipe, bytes | None]]:
    """Every recipe's output, those that lie in the folder as they are; None where none is made."""
    for recipe in RECIPES:
        kept = folder / recipe.name
        data = kept.read_bytes() if kept.exists() else None
        if data is None:
            with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as place:
                data = make(recipe, Path(place))
            if data is not None:
                kept.write_bytes(data)
        yield recipe, data


def ask(store: Store, label: str, data: bytes, asked: Asked) -> Answered | None:
    """None where the output holds no answer, as another version of a tool may say it otherwise."""
    targets = [found.span() for found in re.finditer(asked.answer, data, re.MULTILINE)]
    if not targets:
        return None
    query = f"{asked.query} source:{label}"
    (result,) = store.search(query, limit=LIMIT)
    hits = [(hit.start_byte, hit.end_byte) for hit in result.hits]
    ranks = [at for at, hit in enumerate(hits, 1) if _holds(hit, targets)]
    (within,) = store.search(query, limit=LIMIT, budget_bytes=EVIDENCE_BYTES)
    shown = [(hit.start_byte, hit.end_byte) for hit in within.hits]
    return Answered(
        1 / ranks[0] if ranks else 0.0,
        any(_holds(hit, targets) for hit in shown),
        _grep_shows(data, asked.query, targets),
        _holds((0, EVIDENCE_BYTES // 2), targets)
        or _holds((len(data) - EVIDENCE_BYTES // 2, len(data)), targets),
    )


def _holds(part: tuple[int, int], targets: Sequence[tuple[int, int]]) -> bool:
    return any(start < part[1] and end > part[0] for start, end in targets)


def _grep_shows(data: bytes, query: str, targets: Sequence[tuple[int, int]]) -> bool:
    """Whether the lines with any word of the query, in order, hold the target soon enough."""
    words = [word for word in _WORD.findall(query.lower()) if word not in _STOP]
    wanted = re.compile("|".join(map(re.escape, words)).encode() or rb"(?!)", re.IGNORECASE)
    shown = position = 0
    for line in data.splitlines(keepends=True):
        after = position + len(line)
        if wanted.search(line):
            if shown + len(line) > EVIDENCE_BYTES:
                return False
            if _holds((position, after), targets):
                return True
            shown += len(line)
        position = after
    return False


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over the queries of one output, or of all."""

    name: str
    kind: str
    passages: int
    queries: int
    mrr: float
    search: float
    grep: float
    ends: float


@dataclass(slots=True)
class Measured:
    """Every output's scores, those over all queries, and what share of the time detection took."""

    outputs: list[Scores] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    detecting_share: float = 0.0
    every: list[Answered] = field(default_factory=list)


def measure(folder: Path) -> Measured:
    """Keep and ask every output."""
    measured = Measured()
    looked_s = kept_s = 0.0
    with (
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as place,
        Store.open(Path(place, "kb.db")) as store,
    ):
        for at, (recipe, data) in enumerate(outputs(folder)):
            label = f"{at:02}-{recipe.name}"  # no label is a part of another
            if data is None:
                measured.missing.append(recipe.name)
                continue
            started = time.perf_counter()
            kind = detect(data).kind
            looked_s += time.perf_counter() - started
            started = time.perf_counter()
            added = store.add(SourceSpec(label, origin="run"), data)
            kept_s += time.perf_counter() - started
            found = [ask(store, label, data, asked) for asked in recipe.asked]
            answers = [answer for answer in found if answer is not None]
            if answers:
                measured.outputs.append(_scores(recipe.name, kind, added.chunks, answers))
            measured.every += answers
    measured.detecting_share = looked_s / kept_s if kept_s else 0.0
    return measured


def _scores(name: str, kind: str, passages: int, answers: Sequence[Answered]) -> Scores:
    return Scores(
        name,
        kind,
        passages,
        len(answers),
        mrr=statistics.fmean(answer.rank for answer in answers),
        search=statistics.fmean(answer.search for answer in answers),
        grep=statistics.fmean(answer.grep for answer in answers),
        ends=statistics.fmean(answer.ends for answer in answers),
    )


def lines(measured: Measured) -> Iterator[str]:
    """A table for people."""
    yield f"{'output':16} {'kind':9} passages queries  MRR   4000B  grep   head+tail"
    passages = sum(scores.passages for scores in measured.outputs)
    for scores in (*measured.outputs, _scores("all", "", passages, measured.every)):
        yield (
            f"{scores.name:16} {scores.kind:9} {scores.passages:8} {scores.queries:7}  "
            f"{scores.mrr:.3f} {scores.search:.3f}  {scores.grep:.3f}  {scores.ends:.3f}"
        )
    yield f"telling the kind took {measured.detecting_share:.2%} of the time of keeping"
    if measured.missing:
        yield f"not made here: {', '.join(measured.missing)}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--outputs", type=Path, metavar="FOLDER", help="keep the outputs there")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as place:
        folder = args.outputs or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        measured = measure(folder)
    if args.json:
        print(json.dumps(asdict(measured), indent=2))
    else:
        print("\n".join(lines(measured)))


if __name__ == "__main__":
    main()
