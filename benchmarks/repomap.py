"""The map of a repository: whether the files, and lines, that a change touched are found; speed.

A case is a task, the commit to look at, and what was changed for it: a commit's message and its
parent, or an issue of SWE-bench Lite. The map is made before the change. Beside the formula stands
BM25 of the text alone, with tests and prose halved.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from base import secrets
from benchmarks.harness import ROOT, Bench, NotMeasuredError, measure, read_output
from benchmarks.processes import read_processors_s
from ctxmode.operations.project_maps import hide_secrets, redact
from kb.tokens import DEAREST, estimate, estimate_tokens
from repomap import workers
from repomap.budget_fit import fit
from repomap.model import Pack, PackRequest, Redaction
from repomap.ranking import ASIDE, is_prose, is_test, rank_files
from repomap.scanning import ScanRequest, scan
from repomap.store import MapStore, read_files
from repomap.words import match_field, weigh_terms

AT = (1, 5, 10)
BUDGETS = (8_000, 32_000)
FILE_BYTES = 512 * 1024
TUNED = (
    *("pytest-dev/pytest", "sphinx-doc/sphinx", "psf/requests", "pallets/flask"),
    *("pylint-dev/pylint", "mwaskom/seaborn", "pydata/xarray"),
)
"""The repositories on whose issues the weights were chosen; on others nothing was."""

LOOKED_AT, FILES_MAX, WORDS_MIN = 1500, 6, 4
ENDINGS = (".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".rb", ".php", ".cs", ".cpp")
BAR_BYTES, BAR_FILES, BAR_SCAN_S = 20_000_000, 2_000, 40.0
"""A first scan of so much may take so long on one core; of more, in proportion."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
Changed = Mapping[str, Sequence[int]]


Case = tuple[str, str, Changed]
"""The commit to look at, a task, and by file the lines there that were changed for it."""


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints."""
    return read_output("git", "-c", "core.quotePath=false", *arguments, cwd=folder)


def find_repositories(folder: Path) -> Iterator[Path]:
    """Yield what git can clone: the folder itself, or what is up to two folders below."""
    for path in [folder, *sorted([*folder.glob("*/"), *folder.glob("*/*/")])]:
        if (path / ".git").exists() or (path / "HEAD").is_file():
            yield path
            if path == folder:
                return


def is_named(path: Path, folder: Path, name: str) -> bool:
    """Tell whether a clone is of `owner/name`, by its folder's name or the two with + or __."""
    owner, _, short = name.partition("/")
    pieces = re.split(r"[/+]|__", str(path.relative_to(folder)))
    pieces = [one.removesuffix(".git") for one in pieces]
    return short in pieces and (owner in pieces or pieces[0] == short)


def find_commits(work: Path, count: int) -> list[Case]:
    """Choose commits of one to six files in the main language, the same each time.

    They are not merges, are of the last 1,500, with a message of four words or more.
    """
    said = git(work, "log", "--no-merges", f"-n{LOOKED_AT}", "--format=%x01%H%x00%B%x00",
               "--name-only", "HEAD")  # fmt: skip
    rows = [part.split("\0") for part in said.split("\x01")[1:]]
    endings = Counter(Path(name).suffix for _, _, names in rows for name in names.split("\n"))
    main = max(ENDINGS, key=lambda ending: endings[ending])
    found = []
    for sha, message, names in rows:
        paths = tuple(n for n in names.split("\n") if n.endswith(main) and not is_test(n))
        if 1 <= len(paths) <= FILES_MAX and len(message.split()) >= WORDS_MIN:
            found.append((sha, message, paths))
    random.Random(1).shuffle(found)
    cases: list[Case] = []
    for sha, message, paths in found[:count]:
        options = ("-U0", "--no-renames", "--no-ext-diff", f"{sha}^", sha, "--", *paths)
        patch = git(work, "diff", *options)
        cases.append((git(work, "rev-parse", f"{sha}^").strip(), message, read_changed(patch)))
    return cases


def read_changed(patch: str) -> dict[str, list[int]]:
    """Return by file the lines before a patch that it changes; of an insertion the line before."""
    found: dict[str, list[int]] = {}
    path, mark = "", ""
    at = old = new = 0
    for line in patch.split("\n"):
        if old <= 0 and new <= 0:
            hunk = _HUNK.match(line)
            if line.startswith("--- "):
                path = line[4:].partition("\t")[0].strip('"').removeprefix("a/")
                if path != "/dev/null":
                    found.setdefault(path, [])
            elif hunk:
                old, new = (int(n) if n else 1 for n in (hunk[2], hunk[3]))
                at, mark = int(hunk[1]) + (old == 0), " "
        elif line.startswith("-"):
            found[path].append(at)
            at, old, mark = at + 1, old - 1, "-"
        elif line.startswith("+"):
            if mark == " " and path in found:
                found[path].append(max(at - 1, 1))
            new, mark = new - 1, "+"
        elif not line.startswith("\\"):
            at, old, new, mark = at + 1, old - 1, new - 1, " "
    return found


def _order_by_text(store: MapStore, task: str) -> Sequence[str]:
    found = match_field(store.db, "body", weigh_terms(task))
    scores = {
        path: found[row.id] * (ASIDE if is_test(path) or is_prose(path) else 1)
        for path, row in read_files(store.db).items()
        if row.id in found
    }
    return sorted(scores, key=lambda path: (-scores[path], path))


class Shares:
    """The results of cases: by name, shares of what was changed."""

    def __init__(self) -> None:
        self.by_name: defaultdict[str, list[float]] = defaultdict(list)
        self.plain: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, work: Path, store: MapStore, case: Case) -> None:
        """Check a case's commit out, scan it, and look for what was changed."""
        base, task, every = case
        git(work, "checkout", "-q", "-f", base)
        git(work, "clean", "-q", "-f", "-d", "-x")
        scan(store, ScanRequest(work, lambda _: False, lambda data: data))
        changed = {path: at for path, at in every.items() if (work / path).is_file()}
        if not changed:
            return
        ranked = rank_files(store.db, task)
        orders = (
            (self.by_name, [one.row.path for one in ranked]),
            (self.plain, _order_by_text(store, task)),
        )
        for shares, order in orders:
            for at in AT:
                found = sum(path in order[:at] for path in changed) / len(changed)
                shares[f"files among the first {at}"].append(found)
        for budget in BUDGETS:
            asked = PackRequest(task, estimate_tokens, _redact_nothing, budget)
            pack = fit(store.db, work, asked, ranked, file_bytes=FILE_BYTES)
            share = _share_of_lines(pack, changed)
            self.by_name[f"lines within {budget:,} tokens"].append(share)

    def report(self, bench: Bench, title: str) -> None:
        """Add a row for each name, in per cent."""
        for name, shares in self.by_name.items():
            plain = 100 * statistics.mean(self.plain[name]) if self.plain.get(name) else None
            ours = 100 * statistics.mean(shares)
            beside = "BM25 of the text" if plain is not None else ""
            bench.value(f"{title}: {name}", ours, "%", beside=beside, other=plain)
        count = max(map(len, self.by_name.values()), default=0)
        bench.notes.append(f"{title}: {count} cases")


def _redact_nothing(text: str) -> Redaction:
    return (text, ())


def _share_of_lines(pack: Pack, changed: Changed) -> float:
    lines = {item.path: item.lines for item in pack.items if item.kind in ("full", "parts")}
    wanted = [(path, at) for path, places in changed.items() for at in places]
    if not wanted:
        return float(any(path in lines for path in changed))
    held = sum(any(a <= at <= b for a, b in lines.get(path, ())) for path, at in wanted)
    return held / len(wanted)


def _measure_cases(
    bench: Bench, repository: Path, find: Callable[[Path], Sequence[Case]], shares: Shares
) -> None:
    number = len(list(bench.folder.iterdir()))
    work = bench.folder / f"work-{number}"
    source = str(repository.resolve())
    git(bench.folder, "clone", "-q", "-s", "--no-checkout", source, str(work))
    store = MapStore(bench.folder / f"map-{number}.sqlite3")
    # The newest first: what the map knows is then no ancestor, and each history is read whole.
    cases = find(work)
    dates = {base: int(git(work, "log", "-1", "--format=%ct", base)) for base, _, _ in cases}
    for case in sorted(cases, key=lambda one: (dates[one[0]], one[1]), reverse=True):
        shares.add(work, store, case)
    store.close()


def _repositories(bench: Bench) -> list[Path]:
    folder = ROOT if bench.options["repos"] == "." else bench.path("repos")
    found = [path for path in find_repositories(folder) if bench.wants(str(path))]
    if not found:
        raise NotMeasuredError(f"no repository in {folder}")
    return found


def _name(repository: Path) -> str:
    return "this project" if repository == ROOT else repository.name


@measure(60, is_long=True, repos=".")
def commits(bench: Bench) -> None:
    """Measure commits of every repository, as many of each as there are rounds."""
    for repository in _repositories(bench):
        shares = Shares()
        _measure_cases(bench, repository, partial(find_commits, count=bench.rounds), shares)
        shares.report(bench, f"commits of {_name(repository)}")


@measure(1000, is_long=True, repos="", issues="")
def issues(bench: Bench) -> None:
    """Measure issues of SWE-bench Lite (a JSON list): a tuned group, and all that is held out."""
    rows = json.loads(bench.path("issues").read_text())
    folder, groups = bench.path("repos"), {True: Shares(), False: Shares()}
    for name in sorted({row["repo"] for row in rows}):
        found = [path for path in find_repositories(folder) if is_named(path, folder, name)]
        cases = [
            (row["base_commit"], row["problem_statement"], read_changed(row["patch"]))
            for row in sorted(rows, key=lambda one: str(one["instance_id"]))
            if row["repo"] == name
        ]
        random.Random(1).shuffle(cases)
        if found and bench.wants(name):
            chosen = cases[: bench.rounds]
            _measure_cases(bench, found[0], lambda _, some=chosen: some, groups[name in TUNED])  # type: ignore[misc]
    groups[True].report(bench, "issues on which weights were chosen")
    groups[False].report(bench, "issues held out")


@measure(5, repos=".")
async def speed(bench: Bench) -> None:
    """Measure scans of a repository's newest commit, and packs of it, secrets hidden."""
    for repository in _repositories(bench):
        work = bench.folder / f"speed-{repository.name}"
        git(bench.folder, "clone", "-q", "-s", str(repository.resolve()), str(work))
        store = MapStore(bench.folder / f"{repository.name}.sqlite3")
        again = partial(scan, store, ScanRequest(work, secrets.is_secret_path, hide_secrets))
        workers.restart()
        began = read_processors_s(workers.processes())
        again()
        first_s = read_processors_s(workers.processes()) - began
        time.sleep(2.1)  # so that no file counts as changed just now
        (unchanged,) = await bench.turns(again)
        rows = read_files(store.db).values()
        size = sum(row.size for row in rows)
        said = git(work, "log", "--no-merges", f"-n{bench.rounds + 1}", "--format=%B%x00")
        tasks = [text for text in said.split("\0") if text.strip()]
        side = partial(_pack, store, work, iter(tasks))
        (packs,) = await bench.turns(side, rounds=len(tasks) - 1)
        store.close()
        title = _name(repository)
        bench.notes.append(f"{title}: {len(rows):,} files, {size / 1e6:.1f} MB")
        bar_s = BAR_SCAN_S * max(1.0, size / BAR_BYTES, len(rows) / BAR_FILES)
        bench.value(f"{title}: a first scan, of processors", first_s, "s", bar=f"≤ {bar_s:.1f} s")
        bench.times(f"{title}: a scan of nothing new", unchanged, bar="≤ 500 ms")
        bench.times(f"{title}: a pack", packs, bar="≤ 500 ms")


def _pack(store: MapStore, work: Path, tasks: Iterator[str]) -> None:
    task = next(tasks)
    asked = PackRequest(task, lambda text: estimate(text, DEAREST), redact)
    fit(store.db, work, asked, rank_files(store.db, task), file_bytes=FILE_BYTES)
