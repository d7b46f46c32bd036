"""How well search finds what is asked of outputs of tools: `python -m benchmarks.kb_outputs`.

    python -m benchmarks.kb_outputs [--outputs FOLDER] [--json]

Each output is made by its recipe (`benchmarks.kb_output_recipes`), kept as a run's output without a
name, and asked in its own source. A query's targets are ranges of bytes. Prints per output the mean
reciprocal rank of the first passage that holds some of it, and how often the target is within
4,000 bytes: of what search returns, of the lines `grep` finds for any word of the query, and of the
output's first and last 2,000 bytes. Other queries are made by rule, three words of a line that
chance takes, which ask for the lines that have all of them. A fixed hash splits these in two
halves: on the one that is held out nothing is ever tuned. `--outputs` keeps the outputs there, for
comparing two versions on the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import random
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


LINES = 6
"""So many lines of each output are asked for by rule."""

_SEED = 20261128
_ASKED_WORDS = 3
_LETTERS = re.compile(rb"[A-Za-z][a-z]{2,}|[A-Z]{3,}")


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


def ask_by_rule(name: str, data: bytes) -> Iterator[Asked]:
    """Three words of a line that chance takes ask for whatever lines have all of them."""
    chance = random.Random(f"{_SEED} {name}")
    found = (dict.fromkeys(_LETTERS.findall(line)) for line in set(data.splitlines()))
    lines = sorted(list(words) for words in found if len(words) >= _ASKED_WORDS)
    for words in chance.sample(lines, min(LINES, len(lines))):
        asked = chance.sample(words, _ASKED_WORDS)
        each = b"".join(rb"(?=[^\n]*" + word + rb")" for word in asked)
        yield Asked(b" ".join(asked).decode(), rb"^" + each + rb"[^\n]+")


def is_held_out(name: str, asked: Asked) -> bool:
    """Half of all queries, whatever else is asked."""
    return bool(hashlib.sha256(f"{name} {asked.query}".encode()).digest()[0] & 1)


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
    by_rule: list[Answered] = field(default_factory=list)
    held_out: list[Answered] = field(default_factory=list)

    def totals(self) -> Iterator[Scores]:
        """The means over all queries: those by hand, and the two halves of those by rule."""
        passages = sum(scores.passages for scores in self.outputs)
        named = (("all", self.every), ("by rule", self.by_rule), ("held out", self.held_out))
        for name, answers in named:
            if answers:
                yield _scores(name, "", passages, answers)


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
            for asked in ask_by_rule(recipe.name, data):
                answer = ask(store, label, data, asked)
                half = measured.held_out if is_held_out(recipe.name, asked) else measured.by_rule
                half += [] if answer is None else [answer]
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
    for scores in (*measured.outputs, *measured.totals()):
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
        rows = [asdict(scores) for scores in (*measured.outputs, *measured.totals())]
        share = measured.detecting_share
        report = {"outputs": rows, "detecting_share": share, "missing": measured.missing}
        print(json.dumps(report, indent=2))
    else:
        print("\n".join(lines(measured)))


if __name__ == "__main__":
    main()
