"""A case: a task, a commit to look at, and what was changed for the task; and its measuring."""

from __future__ import annotations

import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.tokens import estimate_tokens
from repomap.evidence import match_field
from repomap.fitting import fit
from repomap.kinds import is_prose, is_test
from repomap.pack_model import PackRequest, Redaction
from repomap.ranking import ASIDE, Ranked, rank_files
from repomap.scanning import ScanRequest, scan
from repomap.store import MapStore, read_files
from repomap.words import weigh_terms

AT = (1, 3, 5, 10, 20)
BUDGETS = (8_000, 32_000)
FORMULA = "the formula"
FILE_BYTES = 512 * 1024
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
Order = Callable[[MapStore, str], Sequence[str]]
Changed = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the commit to look at, and by file the lines there that were changed for it."""

    name: str
    base: str
    task: str
    changed: Changed


@dataclass(slots=True)
class Tally:
    """Shares of the changed files among the first so many, and the rank of the first."""

    found: dict[int, list[float]] = field(default_factory=lambda: {at: [] for at in AT})
    ranks: list[float] = field(default_factory=list)

    def add(self, order: Sequence[str], wanted: Sequence[str]) -> None:
        """Add the order for one case."""
        for at in AT:
            self.found[at].append(sum(path in order[:at] for path in wanted) / len(wanted))
        places = [order.index(path) + 1 for path in wanted if path in order]
        self.ranks.append(1 / min(places) if places else 0.0)

    def take(self, other: Tally) -> None:
        """Add all of another's cases."""
        for at in AT:
            self.found[at] += other.found[at]
        self.ranks += other.ranks

    def line(self) -> str:
        """Write the means."""
        shares = "  ".join(f"R@{at} {100 * statistics.mean(self.found[at]):5.1f}" for at in AT)
        return f"{shares}  MRR {statistics.mean(self.ranks):.3f}"


@dataclass(slots=True)
class Figures:
    """What cases came to: a tally an order, and by budget the shares of lines within a pack."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    shares: dict[int, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def take(self, other: Figures) -> None:
        """Add all of another's cases."""
        for name, tally in other.tallies.items():
            self.tallies.setdefault(name, Tally()).take(tally)
        for budget, shares in other.shares.items():
            self.shares.setdefault(budget, []).extend(shares)
        self.seconds += other.seconds

    def is_empty(self) -> bool:
        """Tell whether there was no case."""
        return not any(tally.ranks for tally in self.tallies.values())

    def show(self, title: str) -> None:
        """Print the means."""
        print(title)
        for name, tally in self.tallies.items():
            print(f"  {name:30} {tally.line()}  of {len(tally.ranks)}")
        for budget, shares in self.shares.items():
            mean = 100 * statistics.mean(shares)
            whole = 100 * statistics.mean(share == 1 for share in shares)
            print(f"  lines within {budget} tokens of 4 bytes: {mean:.1f} % (all: {whole:.1f} %)")
        if self.seconds:
            print(f"  a pack: {1000 * statistics.median(self.seconds):.0f} ms", flush=True)


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", "-c", "core.quotePath=false", *arguments],
        cwd=folder,
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8", "replace")


def find_repositories(folder: Path) -> Iterator[Path]:
    """Yield what git can clone, up to two folders deep."""
    for path in sorted([*folder.iterdir(), *folder.glob("*/*")]):
        if (path / ".git").is_dir() or (path / "HEAD").is_file():
            yield path


def find_repository(folder: Path, name: str) -> Path | None:
    """Return the clone of `owner/name`: the folder of that name, or of the two by + or __."""
    owner, _, short = name.partition("/")
    for path in find_repositories(folder):
        pieces = re.split(r"[/+]|__", str(path.relative_to(folder)))
        pieces = [one.removesuffix(".git") for one in pieces]
        if short in pieces and (owner in pieces or pieces[0] == short):
            return path
    return None


def clone(repository: Path, work: Path) -> None:
    """Make a working folder whose objects are the repository's; nothing is checked out."""
    git(work.parent, "clone", "-q", "-s", "--no-checkout", str(repository.resolve()), str(work))


def order_by_text(store: MapStore, task: str) -> Sequence[str]:
    """Order files by BM25 of their text."""
    return _order(store, task, halved=False)


def order_halved(store: MapStore, task: str) -> Sequence[str]:
    """Order files by BM25 of their text, tests and prose halved."""
    return _order(store, task, halved=True)


def _order(store: MapStore, task: str, *, halved: bool) -> Sequence[str]:
    found = match_field(store.db, "body", weigh_terms(task))
    scores = {
        path: found[row.id] * (ASIDE if halved and (is_test(path) or is_prose(path)) else 1)
        for path, row in read_files(store.db).items()
        if row.id in found
    }
    return sorted(scores, key=lambda path: (-scores[path], path))


def order_by_formula(store: MapStore, task: str) -> Sequence[str]:
    """Order files as a pack does."""
    return [one.row.path for one in rank_files(store.db, task)]


ORDERS: Mapping[str, Order] = {
    "text": order_by_text,
    "text, tests and prose halved": order_halved,
    FORMULA: order_by_formula,
}


def visit(work: Path, store: MapStore, cases: Iterable[Case]) -> Iterator[tuple[Case, Changed]]:
    """Check out and scan for one case after the other; yield those of whose files some are there.

    The newest first: then the history of each is read as a first scan reads it, since what the
    map knows is no ancestor.
    """
    for case in sorted(cases, key=lambda one: (_date(work, one.base), one.name), reverse=True):
        git(work, "checkout", "-q", "-f", case.base)
        git(work, "clean", "-q", "-f", "-d", "-x")
        scan(store, ScanRequest(work, lambda _: False, lambda data: data))
        changed = {path: at for path, at in case.changed.items() if (work / path).is_file()}
        if changed:
            yield case, changed


def _date(work: Path, commit: str) -> int:
    return int(git(work, "log", "-1", "--format=%ct", commit))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is measured of each case: orders, packs; whether the formula's ranks are said."""

    orders: Mapping[str, Order] = field(default_factory=lambda: ORDERS)
    with_packs: bool = False
    with_each: bool = False


def measure(work: Path, store: MapStore, cases: Iterable[Case], asked: Asked) -> Figures:
    """Measure how well the changed files, and the lines within packs, are found."""
    figures = Figures({name: Tally() for name in asked.orders})
    for case, changed in visit(work, store, cases):
        for name, order in asked.orders.items():
            paths = order(store, case.task)
            figures.tallies[name].add(paths, [*changed])
            if asked.with_each and name == FORMULA:
                ranks = [paths.index(path) + 1 if path in paths else 0 for path in changed]
                print(f"    {case.name[:40]:40} ranks {ranks}", flush=True)
        if asked.with_packs:
            began = time.perf_counter()
            ranked = rank_files(store.db, case.task)
            ranked_s = time.perf_counter() - began
            for budget in BUDGETS:
                began = time.perf_counter()
                share = share_of_lines(store, work, case.task, changed, ranked, budget)
                figures.shares.setdefault(budget, []).append(share)
                figures.seconds.append(ranked_s + time.perf_counter() - began)
    return figures


def share_of_lines(  # noqa: PLR0913, PLR0917 - what a pack is made of
    store: MapStore,
    work: Path,
    task: str,
    changed: Changed,
    ranked: Sequence[Ranked],
    budget: int,
) -> float:
    """Return the share of the changed lines, as they were before, that a pack has."""
    asked = PackRequest(task, estimate_tokens, lambda text: Redaction(text, ()), budget)
    pack = fit(store.db, work, asked, ranked, file_bytes=FILE_BYTES)
    lines = {item.path: item.lines for item in pack.items if item.kind in ("full", "parts")}
    wanted = [(path, at) for path, places in changed.items() for at in places]
    if not wanted:
        return float(any(path in lines for path in changed))
    held = sum(any(a <= at <= b for a, b in lines.get(path, ())) for path, at in wanted)
    return held / len(wanted)


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
