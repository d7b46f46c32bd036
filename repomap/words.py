"""Words of programs: names are split at case and underscores, and also kept whole."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.query import STOP_WORDS

TERMS_MAX = 160
"""Most different words of a task that are searched; an issue with a long traceback has some 300."""

TITLE_CHARS = 300
TITLE_WEIGHT = 2.0
"""Additional weight of a word in the title."""

SAID_AGAIN = 8.0
"""BM25's k3, with its usual value: a word repeated n times weighs (k3 + 1) n / (k3 + n)."""

TASK_BYTES = 64 * 1024

# Both begin with a capital, which the engine skips to: three times as fast as other forms.
_RISE = re.compile(r"[A-Z](?<=[a-z0-9].)")
_CHANGE = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
_REST = re.compile(r"\w*")
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,79}")
_CODE_LIKE = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


def split_names(text: str) -> str:
    """Return a text with names of mixed case split, followed by those names."""
    parted = _CHANGE.sub(r" \g<0>", text)
    whole = " ".join(_find_mixed(text))
    return f"{parted}\n{whole}" if whole else parted


def _find_mixed(text: str) -> Iterator[str]:
    """Yield the names in which a capital follows a small letter or a digit."""
    end = 0
    for rise in _RISE.finditer(text):
        start = rise.start()
        if start < end:
            continue
        while start > end and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        rest = _REST.match(text, rise.start())
        assert rest is not None  # it matches everything
        end = rest.end()
        yield text[start:end]


def cut_task(task: str) -> str:
    """Return the part of a task that counts: its first 64 KiB."""
    data = task.encode("utf-8", "replace")
    return data[:TASK_BYTES].decode("utf-8", "ignore") if len(data) > TASK_BYTES else task


def find_title(task: str) -> str:
    """Return the first significant line of a task."""
    lines = (line.strip("# \t") for line in task.splitlines())
    return next((line for line in lines if line), "")[:TITLE_CHARS]


def find_terms(text: str) -> tuple[str, ...]:
    """Return the different search words of a text, in lower case."""
    found: dict[str, None] = {}
    for word in _WORD.findall(split_names(text)):
        low = word.lower()
        if len(low) > 1 and low not in STOP_WORDS and not low.isdigit():
            found.setdefault(low)
            if len(found) == TERMS_MAX:
                break
    return tuple(found)


def weigh_terms(task: str) -> Mapping[str, float]:
    """Return the weight of each search word: higher if the task repeats it, or its title has it."""
    said = Counter(word.lower() for word in _WORD.findall(split_names(task)))
    titled = frozenset(find_terms(find_title(task)))
    return {
        term: (SAID_AGAIN + 1) * said[term] / (SAID_AGAIN + said[term])
        + (TITLE_WEIGHT if term in titled else 0.0)
        for term in find_terms(task)
    }


def find_names(text: str) -> tuple[str, ...]:
    """Return the different identifiers in a text, code-like ones first."""
    names = dict.fromkeys(_IDENTIFIER.findall(text))
    return tuple(sorted(names, key=lambda name: not is_code_like(name)))


def is_code_like(name: str) -> bool:
    """Return whether a name has an underscore or changes its case."""
    return _CODE_LIKE.search(name) is not None


def match_any(terms: Iterable[str]) -> str:
    """Return the full-text query that matches any of the words."""
    return " OR ".join(f'"{term}"' for term in terms)


Evidence = Mapping[int, float]

DEFINERS_MAX = 20
"""Number of definers from which a name is not significant."""

LINKS_MAX = 500_000
"""References counted once for each definer. Generated code has many times that."""

HALF_LIFE_S = 90 * 86_400
NAMES_MAX = 200
IMPORT_WEIGHT = 3.0
BEST = 10


def match_field(db: sqlite3.Connection, field: str, terms: Mapping[str, float]) -> Evidence:
    """Return BM25 of one field for weighted words, relative to the best file's."""
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
    """Return how many names of the task each file defines; definers share a name."""
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
    """Return how recently each file changed, counted from HEAD's date. A commit may have a later
    date, by a wrong clock."""
    rows = db.execute(
        "SELECT file.id, max(git_commit.at) FROM file JOIN commit_file USING (path)"
        " JOIN git_commit USING (sha) GROUP BY file.id"
    ).fetchall()
    head = db.execute(
        "SELECT at FROM git_commit JOIN mark ON mark.value = sha WHERE mark.name = 'head'"
    ).fetchone()
    # HEAD may be a merge, or have touched too many files to be stored.
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
    """Return PageRank over imports and references, relative to the most central file's. A reference
    points to the files that define its name: √count shared by the definers. Names of more than
    `DEFINERS_MAX` files are left out, and those that may be plain words; above `LINKS_MAX` links
    also the names with the most definers."""
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
    """Return the files that define each significant name."""
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
    """Return values relative to the largest of them."""
    best = max(found.values(), default=0.0)
    return {file: value / best for file, value in found.items()} if best > 0 else {}
