"""Whether the files, and the lines, that a real change touched are found from its task alone.

    python -m benchmarks.repomap --repos DIR                   commits of every repository in DIR
    python -m benchmarks.repomap --repos DIR --commits 60 --packs
    python -m benchmarks.repomap --repos DIR --research        commits of gin and express
    python -m benchmarks.repomap --repos DIR --issues FILE     issues of SWE-bench Lite
    python -m benchmarks.repomap --repos DIR --issues FILE --aider PYTHON --limit 20
    python -m benchmarks.repomap --repos DIR --speed           seconds of scans and packs

Repositories are clones, bare ones, too, up to two folders deep; `--only` names some. The map is
made at the commit before the change, so that nothing of it is seen. Beside the formula stand BM25
of the text alone, and that with tests and prose halved. What a case is: benchmarks/repomap_commits
and benchmarks/repomap_issues.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import repomap_aider, repomap_speed
from benchmarks.repomap_cases import (
    Asked,
    Case,
    Figures,
    clone,
    find_repositories,
    find_repository,
    git,
    measure,
)
from benchmarks.repomap_commits import RESEARCHED, find_commits
from benchmarks.repomap_issues import GROUPS, read_issues
from repomap.store import MapStore


def main() -> None:
    """Measure repositories of a folder."""
    args = _parse()
    if args.speed:
        for repository in _choose(args):
            repomap_speed.measure(repository)
    elif args.issues and args.aider:
        repomap_aider.compare(args.repos, args.issues, args.aider, args.limit or 20)
    elif args.issues:
        for title, names in GROUPS.items():
            _measure_all(args, title, _find(args, names), _issues_of(args))
    elif args.research:
        _measure_all(args, "both", _find(args, RESEARCHED), _commits_of(args))
    else:
        _measure_all(args, "all", {str(one): one for one in _choose(args)}, _commits_of(args))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repos", required=True, type=Path, metavar="DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--commits", type=int, default=60, metavar="N")
    parser.add_argument("--research", action="store_true", help="commits of gin and express")
    parser.add_argument("--issues", type=Path, metavar="FILE", help="SWE-bench Lite as JSON")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="issues a repository")
    parser.add_argument("--packs", action="store_true", help="the lines inside packs, too")
    parser.add_argument("--each", action="store_true", help="the ranks of each case, too")
    parser.add_argument("--speed", action="store_true", help="scans and packs in seconds")
    parser.add_argument("--aider", metavar="PYTHON", help="beside aider's map, by its Python")
    return parser.parse_args()


def _is_meant(args: argparse.Namespace, name: str) -> bool:
    return not args.only or any(part in name for part in args.only)


def _choose(args: argparse.Namespace) -> Sequence[Path]:
    return [one for one in find_repositories(args.repos) if _is_meant(args, str(one))]


def _find(args: argparse.Namespace, names: Iterable[str]) -> Mapping[str, Path]:
    found = {name: find_repository(args.repos, name) for name in names if _is_meant(args, name)}
    for name, path in found.items():
        if path is None:
            print(f"{name}: not in {args.repos}")
    return {name: path for name, path in found.items() if path is not None}


def _issues_of(args: argparse.Namespace) -> Callable[[str, Path], Sequence[Case]]:
    return lambda name, _: read_issues(args.issues, name, args.limit)


def _commits_of(args: argparse.Namespace) -> Callable[[str, Path], Sequence[Case]]:
    return lambda _, work: find_commits(work, args.commits)


def _measure_all(
    args: argparse.Namespace,
    title: str,
    repositories: Mapping[str, Path],
    find: Callable[[str, Path], Sequence[Case]],
) -> None:
    """Print the figures of each repository, and of all together."""
    together = Figures()
    asked = Asked(with_packs=args.packs, with_each=args.each)
    for name, repository in repositories.items():
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder, "work")
            clone(repository, work)
            store = MapStore(Path(folder, "map.sqlite3"))
            figures = measure(work, store, find(name, work), asked)
            store.close()
            if figures.is_empty():
                print(f"{name}: no cases")
                continue
            figures.show(f"{name} at {git(work, 'rev-parse', 'origin/HEAD')[:12]}")
            together.take(figures)
    if len(repositories) > 1:
        together.show(f"{title}, {len(repositories)} repositories together")


if __name__ == "__main__":
    main()
