"""How near the estimates of tokens are to real tokenizers.

    python -m benchmarks.tokens [--tokenizers PYTHON] [--fit] [--json]

PYTHON is an interpreter that has `bpe-openai` (o200k) and `ctok` (an unofficial reconstruction of
Claude's counts, for Python 3.12 and later): neither is a dependency. A family whose tokenizer is
missing is named and not checked. Texts are files of this machine, 1 to 60 KB, a few of each kind.
The hash of its path puts a text into one of two halves: coefficients are fitted on the one, and
all figures are of the other. With `--fit` they are fitted anew and printed as `kb/tokens.py` has
them. Exits with 1 where 5 or more of 100 texts lie beyond 15 % on one side.
"""

from __future__ import annotations

import argparse
import gettext
import hashlib
import json
import math
import os
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path

from kb.tokens import FAMILIES, Coefficients, count, estimate

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.15
BYTES_MIN, BYTES_MAX = 1_000, 60_000
PER_KIND = 80
PER_FOLDER = 3
"""Files of one folder, or translations into one language: neighbours are alike."""
_TRANSLATIONS = "translations"
_EMOJI = "emoji"

SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "python": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".ts", ".tsx"),
    "c": (".c", ".h", ".hpp", ".cc"),
    "go": (".go",),
    "other code": (".sh", ".pl", ".pm", ".php", ".vim", ".sql", ".cmake", ".rb", ".rs", ".java"),
    "prose": (".md", ".rst", ".txt"),
    "markup": (".html", ".xml", ".svg", ".css"),
    "json": (".json",),
    "csv": (".csv", ".tsv"),
    "settings": (".yaml", ".yml", ".toml", ".cfg", ".conf", ".ini"),
    "log": (".log",),
    _TRANSLATIONS: (".mo", ".po"),
}

# Reads texts as JSON, writes what each costs by each tokenizer that it can import.
TOKENIZERS = """
import json, sys
texts, found = json.load(sys.stdin), {}
try:
    import bpe_openai
    encoding = bpe_openai.get_encoding("o200k_base")
    found["o200k"] = [len(encoding.encode(text)) for text in texts]
except ImportError:
    pass
try:
    from ctok import token_count
    for family, version in {"claude-3": "3.0", "claude-5": "4.8"}.items():
        frame = token_count("the", version) - 1
        found[family] = [token_count(text, version) - frame for text in texts]
except ImportError:
    pass
json.dump(found, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Text:
    kind: str
    content: str
    held_out: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Estimate over truth."""

    kind: str
    texts: int
    p5: float
    p50: float
    p95: float

    @property
    def is_within(self) -> bool:
        return self.p5 >= 1 - TOLERANCE and self.p95 <= 1 + TOLERANCE


def default_roots() -> list[Path]:
    system = ("/usr/share", "/usr/lib/node_modules", "/usr/include", "/usr/lib/python3", "/var/log")
    logs = Path.home() / ".npm/_logs"
    return [ROOT, Path(sysconfig.get_path("stdlib")), *map(Path, system), logs]


def collect(roots: Iterable[Path]) -> list[Text]:
    """Some texts of every kind, chosen and halved by the hash of their path."""
    kind_of = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}
    paths = {path: kind_of[path.suffix] for root in roots for path in walk(root, kind_of)}
    taken: Counter[str] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    texts = []
    for path in sorted(paths, key=_digest):
        kind = paths[path]
        neighbours = (kind, _neighbours(path))
        most = 3 * PER_KIND if kind == _TRANSLATIONS else PER_KIND
        if taken[kind] >= most or beside[neighbours] >= PER_FOLDER:
            continue
        content = read(path)
        if BYTES_MIN <= len(content.encode()) <= BYTES_MAX and "\0" not in content:
            taken[kind] += 1
            beside[neighbours] += 1
            texts.append(Text(kind, content, held_out=bool(_digest(path)[-1] & 1)))
    prose = [text for text in texts if text.kind == "prose"]
    return [*texts, *(Text(_EMOJI, decorate(text.content), text.held_out) for text in prose[::2])]


def decorate(text: str) -> str:
    """A text with an emoji before each line, as many READMEs have and no file of a system has."""
    lines = (line for line in text.splitlines() if line.strip())
    return "\n".join(
        f"{chr(0x1F300 + 37 * number % 0x350)} {line}" for number, line in enumerate(lines)
    )


def walk(root: Path, suffixes: Mapping[str, str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in {".git", ".venv", "site-packages"}]
        for name in names:
            path = Path(folder, name)
            if path.suffix in suffixes and path.is_file() and not path.is_symlink():
                yield path


def read(path: Path) -> str:
    """The text of a file, empty where it cannot be one; long ones are cut."""
    try:
        if path.suffix == ".mo":
            return messages(path)
        with path.open("rb") as file:
            return file.read(BYTES_MAX).decode("utf-8", "ignore")
    except (OSError, ValueError, LookupError, AssertionError):  # all that a strange catalogue gives
        return ""


def messages(path: Path) -> str:
    """A compiled catalogue as its source reads."""
    with path.open("rb") as file:
        catalogue: dict[str, str] = vars(gettext.GNUTranslations(file))["_catalog"]
    pairs = []
    size = 0
    for said, meant in catalogue.items():
        if said and isinstance(said, str) and size < BYTES_MAX // 4:
            shown = (json.dumps(text, ensure_ascii=False) for text in (said, meant))
            pairs.append("msgid {}\nmsgstr {}\n".format(*shown))
            size += len(pairs[-1].encode())
    return "\n".join(pairs)


def _digest(path: Path) -> bytes:
    return hashlib.sha256(os.fsencode(path)).digest()


def _neighbours(path: Path) -> str:
    before, _, below = str(path).partition("/locale/")
    return below.partition("/")[0] if below else str(Path(before).parent)


def truths(python: str, texts: Sequence[Text]) -> dict[str, list[int]]:
    """What each text costs, by family; families that `python` cannot count are missing."""
    done = subprocess.run(
        [python, "-c", TOKENIZERS],
        input=json.dumps([text.content for text in texts]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1800,
    )
    found: dict[str, list[int]] = json.loads(done.stdout)
    return found


def fit(counts: Sequence[Sequence[float]], truth: Sequence[int]) -> Coefficients:
    """The coefficients, none negative, of the least squares of the relative error.

    Texts that lie far off count less each round, so that one odd file does not bend the rest.
    """
    rows = [[value / cost for value in row] for row, cost in zip(counts, truth, strict=True)]
    weights = [1.0] * len(rows)
    solution = [0.0] * len(rows[0])
    for _ in range(6):
        _improve(solution, rows, weights)
        errors = (abs(sum(map(mul, row, solution)) - 1) for row in rows)
        weights = [min(1.0, TOLERANCE / max(error, 1e-9)) for error in errors]
    return Coefficients(*(round(value, 3) for value in solution))


def _improve(
    solution: list[float], rows: Sequence[Sequence[float]], weights: Sequence[float]
) -> None:
    """Set one coefficient after the other to its best, 0 where that is less, until none moves."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    weighted = [list(map(mul, column, weights)) for column in columns]
    wanted = [sum(column) for column in weighted]
    products = [[sum(map(mul, column, other)) for other in columns] for column in weighted]
    for _ in range(3000):
        moved = 0.0
        for at, row in enumerate(products):
            if row[at] > 0:
                rest = wanted[at] - sum(map(mul, row, solution))
                best = max(0.0, solution[at] + rest / row[at])
                moved = max(moved, abs(best - solution[at]))
                solution[at] = best
        if moved < 1e-4:
            return


def spreads(
    texts: Sequence[Text], estimates: Sequence[float], truth: Sequence[int]
) -> list[Spread]:
    """Of each kind, and of all, whose name is that of no kind."""
    by_kind: dict[str, list[float]] = {}
    for text, ours, cost in zip(texts, estimates, truth, strict=True):
        for kind in (text.kind, "all"):
            by_kind.setdefault(kind, []).append(ours / cost)
    return [_spread(kind, by_kind[kind]) for kind in [*SUFFIXES, _EMOJI, "all"] if kind in by_kind]


def _spread(kind: str, ratios: list[float]) -> Spread:
    ordered = sorted(ratios)
    p5, p50, p95 = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.05, 0.5, 0.95))
    return Spread(kind, len(ordered), p5, p50, p95)


def measure_speed(texts: Sequence[Text], family: str) -> float:
    """Megabytes a second."""
    size = sum(len(text.content.encode()) for text in texts)
    started = time.perf_counter()
    for text in texts:
        estimate(text.content, family)
    return size / 1e6 / (time.perf_counter() - started)


def fit_families(
    texts: Sequence[Text], truth: Mapping[str, Sequence[int]]
) -> dict[str, Coefficients]:
    """Families' coefficients by the half that is not held out."""
    chosen = [at for at, text in enumerate(texts) if not text.held_out]
    counts = [count(texts[at].content.encode()) for at in chosen]
    return {family: fit(counts, [costs[at] for at in chosen]) for family, costs in truth.items()}


def measure_families(
    texts: Sequence[Text], truth: Mapping[str, Sequence[int]], rows: Mapping[str, Coefficients]
) -> dict[str, list[Spread]]:
    """Families' spreads by the half that is held out."""
    chosen = [at for at, text in enumerate(texts) if text.held_out]
    held_out = [texts[at] for at in chosen]
    counts = [count(text.content.encode()) for text in held_out]
    return {
        family: spreads(
            held_out,
            [math.ceil(sum(map(mul, row, rows[family]))) for row in counts],
            [costs[at] for at in chosen],
        )
        for family, costs in truth.items()
    }


def table(found: Mapping[str, Sequence[Spread]]) -> Iterator[str]:
    yield f"{'family':10}{'kind':14}{'texts':>6}{'p5':>8}{'p50':>8}{'p95':>8}   estimate / truth"
    for family, rows in found.items():
        for row in rows:
            verdict = "" if row.kind != "all" or row.is_within else "   beyond 15 %"
            numbers = f"{row.texts:6}{row.p5:8.2f}{row.p50:8.2f}{row.p95:8.2f}"
            yield f"{family:10}{row.kind:14}{numbers}{verdict}"


def figures(found: Mapping[str, Sequence[Spread]]) -> dict[str, float]:
    return {
        f"{family}, {row.kind}, {name}, % of the truth": 100 * value
        for family, rows in found.items()
        for row in rows
        for name, value in (("p5", row.p5), ("p50", row.p50), ("p95", row.p95))
    }


def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    texts = collect([*default_roots(), *given.texts])
    truth = truths(given.tokenizers, texts)
    rows = fit_families(texts, truth) if given.fit else FAMILIES
    found = measure_families(texts, truth, rows)
    missing = [family for family in FAMILIES if family not in truth]
    if given.json:
        notes = [f"{family} was not checked: its tokenizer is missing" for family in missing]
        json.dump({"name": "tokens", "figures": figures(found), "notes": notes}, sys.stdout)
        print()
    else:
        print("\n".join(table(found)))
        print(f"{len(texts)} texts; {measure_speed(texts, next(iter(FAMILIES))):.0f} MB/s")
        for family in missing:
            print(f"{family} was not checked: {given.tokenizers} has no tokenizer of it")
    if given.fit and not given.json:
        for family, row in rows.items():
            print(f"{family}: Coefficients(")
            print(
                "\n".join(f"    {name}={value}," for name, value in row._asdict().items()) + "\n)"
            )
    return 0 if all(kinds[-1].is_within for kinds in found.values()) else 1


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tokens",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokenizers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--fit", action="store_true", help="fit the coefficients anew")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--texts", action="append", default=[], type=Path, metavar="FOLDER")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
