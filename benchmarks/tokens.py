"""How near the estimates of tokens are to real tokenizers, on texts that they were not fitted on.

    python -m benchmarks.tokens                 fit on one half of the texts, test on the other
    python -m benchmarks.tokens /usr/share/doc  texts from other folders

It needs `bpe-openai` for o200k, and `ctok` (Python 3.12) for Claude's families; a family whose
tokenizer is missing is not checked, and that is said. Texts are halved by the digest of their path.
Exit code 1: some family's p5 to p95 lie beyond 15 % of the truth.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kb.token_counts import count
from kb.tokens import FAMILIES, estimate

FOLDERS = (str(Path(__file__).parents[1]), sys.prefix, "/usr/share/doc", "/usr/lib/python3")
_ENDINGS = """
.py .js .ts .c .h .go .rs .md .rst .txt .json .csv .css .html .sh .yaml .toml .log .po
"""
ENDINGS = frozenset(_ENDINGS.split())
TEXTS = 600
BYTES = (1_000, 30_000)
WITHIN = 0.15
EACH_ENDING = 40
ROUNDS = 400

Tokenize = Callable[[str], int]


def main() -> int:
    """Print the shares of the truth, and tell whether they are within the bar."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="*", default=FOLDERS)
    parser.add_argument("--fit", action="store_true", help="print coefficients fitted anew")
    args = parser.parse_args()
    texts = dict(find_texts(args.folder))
    halves = [[texts[path] for path in sorted(texts) if side(path) == half] for half in (0, 1)]
    print(f"{len(texts)} texts, {len(halves[1])} of them held out")
    is_met = True
    for family in FAMILIES:
        tokenize = find_tokenizer(family)
        if tokenize is None:
            print(f"{family}: not checked, its tokenizer is not installed")
            continue
        if args.fit:
            print(family, [round(one, 3) for one in fit(halves[0], tokenize)])
        shares = [estimate(text, family) / max(tokenize(text), 1) for text in halves[1]]
        p5, p50, p95 = (find_quantile(shares, at) for at in (0.05, 0.5, 0.95))
        is_met &= p5 >= 1 - WITHIN and p95 <= 1 + WITHIN
        print(f"{family}: estimate / truth p5 {p5:.3f}  p50 {p50:.3f}  p95 {p95:.3f}")
    return 0 if is_met else 1


def find_texts(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield texts of a size, at most some of each kind, in order of their paths' digests."""
    paths = [
        path
        for folder in folders
        for path in Path(folder).rglob("*")
        if path.suffix in ENDINGS and path.is_file() and BYTES[0] <= path.stat().st_size <= BYTES[1]
    ]
    paths.sort(key=lambda path: hashlib.sha256(str(path).encode()).digest())
    taken: dict[str, int] = {}
    found = 0
    for path in paths:
        if taken.get(path.suffix, 0) == EACH_ENDING or found == TEXTS:
            continue
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        taken[path.suffix] = taken.get(path.suffix, 0) + 1
        found += 1
        yield str(path), text


def side(path: str) -> int:
    """Return the half that a text belongs to: 0 is fitted on, 1 tested on."""
    return hashlib.sha256(path.encode()).digest()[0] & 1


def find_tokenizer(family: str) -> Tokenize | None:
    """Return what counts the tokens of a family; None where it is not installed."""
    try:
        if family == "o200k":
            encoding: Any = import_module("bpe_openai").get_encoding("o200k_base")
            return lambda text: int(encoding.count(text))
        ctok: Any = import_module("ctok")
    except ImportError:
        return None
    version = {"claude-3": "3.0", "claude-5": "4.8"}[family]
    around = int(ctok.token_count("a", version)) - 1  # what a message has beside its text
    return lambda text: int(ctok.token_count(text, version)) - around


def find_quantile(values: Sequence[float], at: float) -> float:
    """Return a quantile of values."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(at * 100) - 1]


def fit(texts: Sequence[str], tokenize: Tokenize) -> list[float]:
    """Return coefficients of the least relative error, none below zero, by coordinate descent."""
    rows = [(count(text), max(tokenize(text), 1)) for text in texts]
    scaled = [[value / truth for value in counts] for counts, truth in rows]
    size = len(scaled[0])
    gram = [[sum(row[i] * row[j] for row in scaled) for j in range(size)] for i in range(size)]
    goal = [sum(row[i] for row in scaled) for i in range(size)]
    found = [0.0] * size
    for _ in range(ROUNDS):
        for i in range(size):
            if gram[i][i] > 0:
                rest = goal[i] - sum(gram[i][j] * found[j] for j in range(size) if j != i)
                found[i] = max(0.0, rest / gram[i][i])
    return found


if __name__ == "__main__":
    raise SystemExit(main())
