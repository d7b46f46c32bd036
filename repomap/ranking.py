"""Ranking of files for a task: a weighted sum of evidence, with reasons; and neighbours."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from repomap import words
from repomap.model import FileRow
from repomap.store import read_files, read_row
from repomap.words import DEFINERS_MAX, cut_task, find_title, is_code_like, weigh_terms

_TEST_FOLDERS = frozenset(["test", "tests", "testing", "spec", "specs", "__tests__", "testdata"])
_TEST_NAME = re.compile(
    r"(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*(?:_test|_tests|_spec|\.test|\.spec)\.[^/.]+"
    r"|[^/]*Tests?\.(?:java|kt|cs|scala|php|swift))$"
)
_PROSE_ENDINGS = """
md markdown rst txt adoc asciidoc org tex json jsonl yaml yml toml ini cfg conf csv tsv xml svg po
pot lock log html htm css scss less ipynb properties editorconfig
"""
_PROSE = frozenset(_PROSE_ENDINGS.split())
_ASKS_FOR_TESTS = re.compile(r"\b(?:tests?|specs?|testing|testcase|fixture)\b", re.IGNORECASE)
_ASKS_FOR_PROSE = re.compile(
    r"\b(?:docs?|documentation|readme|changelog|docstrings?|tutorial|config(?:uration)?|ya?ml|json"
    r"|toml|css|html|markdown|translations?)\b",
    re.IGNORECASE,
)


def is_test(path: str) -> bool:
    """Return whether a file is a test or belongs to tests."""
    folders = path.split("/")[:-1]
    return any(one in _TEST_FOLDERS for one in folders) or _TEST_NAME.search(path) is not None


def is_prose(path: str) -> bool:
    """Return whether a file is prose or data, not a program."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name[1:] else ""
    return ending in _PROSE or (not ending and name.isupper())


def asks_for_tests(title: str) -> bool:
    """Return whether a task mentions tests."""
    return _ASKS_FOR_TESTS.search(title) is not None


def asks_for_prose(title: str) -> bool:
    """Return whether a task mentions documentation, configuration or data."""
    return _ASKS_FOR_PROSE.search(title) is not None


WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "body": 1.0,
        "path": 0.5,
        "symbols": 0.5,
        "history": 0.7,
        "names": 0.2,
        "mention": 0.4,
        "recency": 0.1,
        "co_change": 0.2,
    }
)
"""Weights chosen on issues of SWE-bench Lite (pytest, sphinx, requests, flask, pylint, seaborn,
xarray) and on commits of gin and express; `python -m benchmarks repomap.commits` measures others,
too."""

ASIDE = 0.5
"""Factor for tests, and for prose or data, unless the task mentions them."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "body": "its text has words of the task",
        "path": "its path has words of the task",
        "symbols": "its definitions have words of the task",
        "history": "commits that changed it mention words of the task",
        "names": "it defines names that the task uses",
        "mention": "the task names it",
        "recency": "it changed recently",
        "co_change": "it changes together with the best files",
        "changed": "it changed",
        "depends": "it depends on changed files",
        "centrality": "many files refer to it",
        "neighbour": "the best files use it, or it uses them",
    }
)
"""Descriptions of each kind of evidence."""

NEIGHBOUR = "neighbour"
"""Evidence without a score: the graph selects no files, it only gives some of them a line."""

REASON_SHARE = 0.12
"""Share of a file's score below which evidence is not a reason."""

DIGITS = 9

MENTIONS_MAX = 40
FILES_A_MENTION = 3
SHARE = 3.0
"""Named files that count fully; a traceback names many, and few matter."""

TOKEN_CHARS = 300
_TOKEN = re.compile(r"[\w@./-]+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A file and its match with the task."""

    row: FileRow
    score: float  # relative to the best file's
    parts: tuple[tuple[str, float], ...]  # score of each kind of evidence before weighting

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the evidence for the file, the strongest first."""
        total = sum(value for _, value in self.parts) or 1.0
        strong = [
            (name, value)
            for name, value in self.parts
            if value / total >= REASON_SHARE or name == NEIGHBOUR
        ]
        return tuple(REASONS[name] for name, _ in sorted(strong, key=lambda one: -one[1]))


def rank_files(
    db: sqlite3.Connection,
    task: str,
    *,
    mentioned: str = "",
    extra: Mapping[str, float] | None = None,
) -> tuple[Ranked, ...]:
    """Rank the files of a map for a task, the best first, without files that have no evidence.
    `mentioned` is text whose paths count as named by the task. `extra` has evidence by path:
    "changed" files (1), and their dependents (less)."""
    files = read_files(db)
    task = cut_task(task)
    title = find_title(task)
    found = _find_evidence(db, task, files, mentioned)
    if extra:
        found["changed"] = {files[p].id: v for p, v in extra.items() if p in files and v >= 1}
        found["depends"] = {files[p].id: v for p, v in extra.items() if p in files and v < 1}
    weights = {**WEIGHTS, "changed": 1.0, "depends": 1.0}
    may_test, may_prose = asks_for_tests(title), asks_for_prose(title)
    aside = {
        row.id: ASIDE
        for path, row in files.items()
        if (is_test(path) and not may_test) or (is_prose(path) and not may_prose)
    }

    def add_up(file: int) -> float:
        total = sum(weights[name] * values.get(file, 0.0) for name, values in found.items())
        return total * aside.get(file, 1.0)

    present = {file for name, values in found.items() if name != "recency" for file in values}
    base = {file: add_up(file) for file in present}
    best = sorted(base.items(), key=lambda one: (-round(one[1], DIGITS), one[0]))
    found["co_change"] = words.rate_co_change(db, best[: words.BEST])
    return _order(files, found, weights, add_up)


def rank_by_centrality(db: sqlite3.Connection) -> tuple[Ranked, ...]:
    """Rank all files by PageRank: what to read first in a project without a task."""
    found = {"centrality": words.rate_centrality(db)}
    files = read_files(db)

    def rate(file: int) -> float:
        return found["centrality"].get(file, 0.0)

    return _order(files, found, {"centrality": 1.0}, rate)


def _find_evidence(
    db: sqlite3.Connection, task: str, files: Mapping[str, FileRow], mentioned: str
) -> dict[str, words.Evidence]:
    terms = weigh_terms(task)
    found: dict[str, words.Evidence] = {
        field: words.match_field(db, field, terms)
        for field in ("body", "path", "symbols", "history")
    }
    found["names"] = words.match_names(db, task)
    named = find_mentions(f"{task}\n{mentioned}", files)
    found["mention"] = {files[path].id: share for path, share in named.items()}
    found["recency"] = words.rate_recency(db)
    return found


def _order(
    files: Mapping[str, FileRow],
    found: Mapping[str, words.Evidence],
    weights: Mapping[str, float],
    add_up: Callable[[int], float],
) -> tuple[Ranked, ...]:
    speaking = {file for name, values in found.items() if name != "recency" for file in values}
    rows = [row for row in files.values() if row.id in speaking]
    scores = {row.id: add_up(row.id) for row in rows}
    best = max(scores.values(), default=0.0) or 1.0
    rows.sort(key=lambda row: (-round(scores[row.id], DIGITS), row.path))
    return tuple(
        Ranked(
            row,
            round(scores[row.id] / best, 6),
            tuple(
                (name, weights[name] * values[row.id])
                for name, values in sorted(found.items())
                if values.get(row.id, 0.0) > 0
            ),
        )
        for row in rows
        if scores[row.id] > 0
    )


def find_mentions(task: str, paths: Collection[str]) -> Mapping[str, float]:
    """Return the files that a task names, each with its share between 0 and 1."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        name = path.rpartition("/")[2]
        by_name[name].append(path)
        by_stem[name.partition(".")[0]].append(path)
    found: dict[str, None] = {}
    tokens = _find_tokens(task)
    for suffix in tokens:
        fits = [p for p in by_name.get(suffix.rpartition("/")[2], ()) if _ends(p, suffix)]
        _take(found, fits)
    for dotted in tokens:
        parts = dotted.split(".")
        while len(parts) > 1 and "/" not in dotted:
            suffix = "/".join(parts)
            fits = [p for p in by_stem.get(parts[-1], ()) if _ends(_stem(p), suffix)]
            if fits:
                _take(found, fits)
                break
            parts.pop()
    share = min(1.0, SHARE / len(found)) if found else 0.0
    return dict.fromkeys(found, share)


def _find_tokens(task: str) -> list[str]:
    """Return possible paths and dotted names."""
    found = dict.fromkeys(token.strip("./-") for token in _TOKEN.findall(task))
    return [one for one in found if len(one) <= TOKEN_CHARS and ("." in one or "/" in one)]


def _take(found: dict[str, None], fits: list[str]) -> None:
    if len(fits) <= FILES_A_MENTION and len(found) < MENTIONS_MAX:
        found.update(dict.fromkeys(sorted(fits)))


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"


def _ends(path: str, suffix: str) -> bool:
    return path == suffix or path.endswith(f"/{suffix}")


BEST = 5
EACH_MAX = 6

_DEFINED = """
SELECT definer.file, reference.name, max(reference.count) AS times FROM reference
JOIN symbol AS definer ON definer.name = reference.name AND definer.kind != 'heading'
WHERE reference.file = ?1 AND definer.file != ?1
    AND (SELECT count(DISTINCT file) FROM symbol WHERE name = reference.name) <= ?2
GROUP BY definer.file, reference.name ORDER BY times DESC, definer.file, reference.name
"""


def find_neighbours(db: sqlite3.Connection, ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Return the neighbours of the best files, those of the best one first. Unranked files have the
    score 0."""
    best = ranked[:BEST]
    known = {one.row.id: one for one in ranked}
    found: dict[int, None] = {}
    for one in best:
        near = list(dict.fromkeys(_list_near(db, one.row.id)))
        found |= dict.fromkeys(near[:EACH_MAX])
    for one in best:
        found.pop(one.row.id, None)
    return tuple(
        known.get(file) or Ranked(read_row(db, file), 0.0, ((NEIGHBOUR, 0.0),)) for file in found
    )


def _list_near(db: sqlite3.Connection, file: int) -> Iterator[int]:
    """Yield the files that one imports, that define names it uses, or that import it."""
    for (target,) in db.execute(
        "SELECT target FROM edge JOIN file ON file.id = target WHERE edge.file = ? ORDER BY path",
        (file,),
    ):
        yield target
    for definer, name, _ in db.execute(_DEFINED, (file, DEFINERS_MAX)):
        if is_code_like(name):
            yield definer
    for (by,) in db.execute(
        "SELECT edge.file FROM edge JOIN file ON file.id = edge.file WHERE target = ?"
        " ORDER BY path",
        (file,),
    ):
        yield by
