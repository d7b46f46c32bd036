"""Whether the files, and the lines, that a real change touched are found from its message alone.

    python -m benchmarks.repomap --repos DIR    every git repository in DIR (bare ones, too)
    python -m benchmarks.repomap --repos DIR --commits 60 --packs

The recipe for commits: of the last 1,500 without merges, those of one to six files in the
repository's main language that are no tests, with a message of four words or more; shuffled by
seed 1, the first N. The map is made at the commit's parent, so that nothing of the change is seen.
Beside the formula stand BM25 of the text alone, and that with tests and prose halved.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from repomap.words import find_terms, find_title

LOOKED_AT = 1500
FILES_MAX = 6
WORDS_MIN = 4
AT = (1, 3, 5, 10, 20)
BUDGETS = (8_000, 32_000)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? ")
ENDINGS = (".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".rb", ".php", ".cs", ".cpp")
Order = Callable[[MapStore, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A commit: its message, and the files with the lines before it that it changed."""

    sha: str
    message: str
    paths: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """Shares of a change's files among the first so many, and the rank of the first."""

    found: dict[int, list[float]] = field(default_factory=lambda: {at: [] for at in AT})
    ranks: list[float] = field(default_factory=list)

    def add(self, order: Sequence[str], wanted: Sequence[str]) -> None:
        """Add the order for one change."""
        for at in AT:
            self.found[at].append(sum(path in order[:at] for path in wanted) / len(wanted))
        places = [order.index(path) + 1 for path in wanted if path in order]
        self.ranks.append(1 / min(places) if places else 0.0)

    def line(self) -> str:
        """Write the means."""
        shares = "  ".join(f"R@{at} {100 * statistics.mean(self.found[at]):5.1f}" for at in AT)
        return f"{shares}  MRR {statistics.mean(self.ranks):.3f}"


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, check=True
    ).stdout.decode("utf-8", "replace")


def find_changes(work: Path, count: int) -> list[Change]:
    """Choose commits by the recipe."""
    said = git(work, "log", "--no-merges", f"-n{LOOKED_AT}", "--format=%x01%H%x00%B%x00",
               "--name-only", "HEAD")  # fmt: skip
    rows = [part.split("\0") for part in said.split("\x01")[1:]]
    endings = Counter(
        Path(name).suffix for _, _, names in rows for name in names.split("\n") if name
    )
    main = max(ENDINGS, key=lambda ending: endings[ending])
    found = []
    for sha, message, names in rows:
        paths = tuple(n for n in names.split("\n") if n.endswith(main) and not is_test(n))
        if 1 <= len(paths) <= FILES_MAX and len(message.split()) >= WORDS_MIN:
            found.append(Change(sha, message, paths))
    random.Random(1).shuffle(found)
    return found[:count]


def order_by_text(store: MapStore, task: str) -> Sequence[str]:
    """Order files by BM25 of their text."""
    return _order(store, task, halved=False)


def order_halved(store: MapStore, task: str) -> Sequence[str]:
    """Order files by BM25 of their text, tests and prose halved."""
    return _order(store, task, halved=True)


def _order(store: MapStore, task: str, *, halved: bool) -> Sequence[str]:
    found = match_field(store.db, "body", find_terms(task), find_terms(find_title(task)))
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
    "the formula": order_by_formula,
}


def main() -> None:
    """Measure every repository of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repos", required=True, type=Path, metavar="DIR")
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--packs", action="store_true", help="the lines inside packs, too")
    args = parser.parse_args()
    for repository in find_repositories(args.repos):
        with tempfile.TemporaryDirectory() as folder:
            measure(repository, Path(folder), args.commits, with_packs=args.packs)


def find_repositories(folder: Path) -> Iterator[Path]:
    """Yield what git can clone, up to two folders deep."""
    for path in sorted([*folder.iterdir(), *folder.glob("*/*")]):
        if (path / ".git").is_dir() or (path / "HEAD").is_file():
            yield path


def measure(repository: Path, folder: Path, count: int, *, with_packs: bool) -> None:
    """Print how well changes of one repository are found."""
    work = folder / "work"
    git(folder, "clone", "-q", "-s", "--no-checkout", str(repository.resolve()), str(work))
    store = MapStore(folder / "map.sqlite3")
    tallies = {name: Tally() for name in ORDERS}
    shares: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    seconds: list[float] = []
    for one in find_changes(work, count):
        git(work, "checkout", "-q", "-f", f"{one.sha}^")
        scan(store, ScanRequest(work, lambda _: False, lambda data: data))
        wanted = [path for path in one.paths if (work / path).exists()]
        if not wanted:
            continue
        for name, order in ORDERS.items():
            tallies[name].add(order(store, one.message), wanted)
        if with_packs:
            began = time.perf_counter()
            ranked = rank_files(store.db, one.message)
            for budget in BUDGETS:
                shares[budget].append(
                    share_of_lines(store, work, one, wanted=wanted, ranked=ranked, budget=budget)
                )
            seconds.append((time.perf_counter() - began) / len(BUDGETS))
    print(f"{repository} at {git(work, 'rev-parse', 'origin/HEAD')[:12]}")
    for name, tally in tallies.items():
        print(f"  {name:30} {tally.line()}  of {len(tally.ranks)} changes")
    for budget, found in shares.items():
        if found:
            print(
                f"  lines within {budget} tokens of 4 bytes: {100 * statistics.mean(found):.1f} %"
            )
    if seconds:
        print(f"  a pack: {1000 * statistics.median(seconds):.0f} ms")
    store.close()


def share_of_lines(  # noqa: PLR0913 - what a pack is made of
    store: MapStore,
    work: Path,
    one: Change,
    *,
    wanted: Sequence[str],
    ranked: Sequence[Ranked],
    budget: int,
) -> float:
    """Return the share of the changed lines, as they were before, that a pack has."""
    asked = PackRequest(one.message, estimate_tokens, lambda t: Redaction(t, ()), budget)
    pack = fit(store.db, work, asked, ranked, file_bytes=512 * 1024)
    lines = {item.path: item.lines for item in pack.items if item.kind in ("full", "parts")}
    changed = [(path, at) for path in wanted for at in changed_lines(work, one.sha, path)]
    if not changed:
        return float(any(path in lines for path in wanted))
    held = sum(any(a <= at <= b for a, b in lines.get(path, ())) for path, at in changed)
    return held / len(changed)


def changed_lines(work: Path, sha: str, path: str) -> list[int]:
    """Return the lines of the parent that a commit changed; of an insertion the line before."""
    said = git(work, "diff", "-U0", f"{sha}^", sha, "--", path)
    found: list[int] = []
    for start, count in _HUNK.findall(said):
        size = int(count) if count else 1
        first = max(int(start), 1)
        found += range(first, first + max(size, 1))
    return found


if __name__ == "__main__":
    main()
