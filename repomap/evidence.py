"""What speaks for each file, one kind of evidence a function: file's id to a value up to 1."""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from repomap.words import find_names, is_code_like, match_any

Evidence = Mapping[int, float]

DEFINERS_MAX = 20
"""A name that more files define says nothing."""

LINKS_MAX = 500_000
"""References counted once for each definer. Generated code has many times that."""

HALF_LIFE_S = 90 * 86_400
NAMES_MAX = 200
IMPORT_WEIGHT = 3.0
BEST = 10


def match_field(db: sqlite3.Connection, field: str, terms: Mapping[str, float]) -> Evidence:
    """Return BM25 of one field for words with their weights, over that of the best file."""
    found: defaultdict[int, float] = defaultdict(float)
    by_weight: defaultdict[float, list[str]] = defaultdict(list)
    for term, weight in terms.items():
        by_weight[weight].append(term)
    for weight, words in by_weight.items():
        rows = db.execute(
            f"SELECT rowid, bm25(words_{field}) FROM words_{field}"  # noqa: S608 - ours
            f" WHERE words_{field} MATCH ?",
            (match_any(words),),
        )
        for file, score in rows:
            found[file] -= weight * score
    return over_best(found)


def match_names(db: sqlite3.Connection, task: str) -> Evidence:
    """Return how many names of the task each file defines; a name is shared by its definers."""
    found: defaultdict[int, float] = defaultdict(float)
    for name in find_names(task)[:NAMES_MAX]:
        rows = db.execute(
            "SELECT DISTINCT file FROM symbol WHERE name = ? LIMIT ?", (name, DEFINERS_MAX + 1)
        ).fetchall()
        if len(rows) > DEFINERS_MAX or not (is_code_like(name) or len(name) > 3):
            continue
        for (file,) in rows:
            found[file] += (1.0 if is_code_like(name) else 0.3) / len(rows)
    return over_best(found)


def rate_recency(db: sqlite3.Connection) -> Evidence:
    """Return how lately each file was changed, counted from HEAD's date.

    Another commit may say a later one, by a clock that was wrong.
    """
    rows = db.execute(
        "SELECT file.id, max(git_commit.at) FROM file JOIN commit_file USING (path)"
        " JOIN git_commit USING (sha) GROUP BY file.id"
    ).fetchall()
    head = db.execute(
        "SELECT at FROM git_commit JOIN mark ON mark.value = sha WHERE mark.name = 'head'"
    ).fetchone()
    # HEAD may be a merge, or have touched too many files to be kept.
    now = head[0] if head else max((at for _, at in rows), default=0)
    return {file: 0.5 ** (max(now - at, 0) / HALF_LIFE_S) for file, at in rows}


def rate_co_change(db: sqlite3.Connection, best: Iterable[tuple[int, float]]) -> Evidence:
    """Return how often each file changed together with the best ones."""
    found: defaultdict[int, float] = defaultdict(float)
    for file, score in best:
        (commits,) = db.execute(
            "SELECT count(*) FROM commit_file JOIN file USING (path) WHERE file.id = ?", (file,)
        ).fetchone()
        if commits == 0:
            continue
        rows = db.execute(
            "SELECT other.id, count(*) FROM file JOIN commit_file AS one ON one.path = file.path"
            " JOIN commit_file AS two ON two.sha = one.sha AND two.path != one.path"
            " JOIN file AS other ON other.path = two.path WHERE file.id = ? GROUP BY other.id",
            (file,),
        )
        for other, times in rows:
            found[other] += score * times / (commits + 2)
    return over_best(found)


def rate_centrality(db: sqlite3.Connection, damping: float = 0.85, rounds: int = 40) -> Evidence:
    """Return PageRank over imports and references, over that of the most central file.

    A reference leads to the files that define its name: √count shared by the definers. Names of
    more than `DEFINERS_MAX` files are left out, and those that may be plain words; where there are
    more links than `LINKS_MAX`, also the names of the most definers.
    """
    files = [row[0] for row in db.execute("SELECT id FROM file ORDER BY path")]
    weights: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for file, target in db.execute("SELECT file, target FROM edge"):
        weights[file][target] += IMPORT_WEIGHT
    definers = _find_definers(db)
    for file, name, count in db.execute("SELECT file, name, count FROM reference"):
        targets = definers.get(name, ())
        for target in targets:
            if target != file:
                weights[file][target] += math.sqrt(count) / len(targets)
    rank = _power(files, weights, damping, rounds)
    return over_best(rank)


def _find_definers(db: sqlite3.Connection) -> dict[str, list[int]]:
    """Return the files that define each name which counts."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    rows = db.execute("SELECT DISTINCT name, file FROM symbol WHERE kind != 'heading'")
    for name, file in rows:
        found[name].append(file)
    definers = {
        name: files
        for name, files in found.items()
        if len(files) <= DEFINERS_MAX and is_code_like(name)
    }
    links = [0] * (DEFINERS_MAX + 1)  # by the number of definers
    for (name,) in db.execute("SELECT name FROM reference"):
        if name in definers:
            links[len(definers[name])] += len(definers[name])
    most = DEFINERS_MAX
    while most > 1 and sum(links[: most + 1]) > LINKS_MAX:
        most -= 1
    return {name: files for name, files in definers.items() if len(files) <= most}


def _power(
    files: Sequence[int],
    weights: Mapping[int, Mapping[int, float]],
    damping: float,
    rounds: int,
) -> dict[int, float]:
    if not files:
        return {}
    share = 1 / len(files)
    rank = dict.fromkeys(files, share)
    links = {}
    for file, to in sorted(weights.items()):
        whole = sum(to.values())
        links[file] = [(target, weight / whole) for target, weight in sorted(to.items())]
    for _ in range(rounds):
        lost = sum(rank[file] for file in files if file not in links)
        base = (1 - damping) * share + damping * lost * share
        after = dict.fromkeys(files, base)
        for file, targets in links.items():
            for target, weight in targets:
                after[target] += damping * rank[file] * weight
        rank = after
    return rank


def over_best(found: Mapping[int, float]) -> dict[int, float]:
    """Return values over the largest of them."""
    best = max(found.values(), default=0.0)
    return {file: value / best for file, value in found.items()} if best > 0 else {}
