"""A commit of many new files beside `cp -a`: `python -m benchmarks.commit [--rounds N] [--json]`.

The files are 40,000 small ones as in a node_modules; both sides write them to the same disk, in
turn. With `--folder` it is another file system's, as one that shares contents (btrfs, xfs).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from executor.project import record
from executor.project.changes import of_upper
from executor.project.commit import commit
from executor.project.names import NAMES
from executor.project.store import Store

FOLDERS, FILES = 2_000, 20


def fill(top: Path) -> None:
    """Make packages of files of 0.5 to 2.5 KiB."""
    for number in range(FOLDERS):
        folder = top / f"package{number % 400}" / f"lib{number}"
        folder.mkdir(parents=True)
        for each in range(FILES):
            (folder / f"file{each}.js").write_text("x" * (500 + each * 100))


def committed(upper: Path, place: Path) -> None:
    """Read the upper folder and commit it to an empty project."""
    (place / "project").mkdir()
    begun = record.take(place / "project", ())
    descriptor = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
    changes = of_upper(descriptor, begun)
    outcome = commit(changes, NAMES, Store(place / "state"), label="benchmark")
    os.close(changes.contents)
    os.close(descriptor)
    if outcome.left_out or len(outcome.changed) < FOLDERS * FILES:
        raise RuntimeError(f"not all was committed: {outcome.left_out[:3]}")


def copied(upper: Path, place: Path) -> None:
    """Copy the same with the system's own tool."""
    subprocess.run(["cp", "-a", upper / "node_modules", place], check=True)


def seconds(side: Callable[[Path, Path], None], upper: Path, place: Path) -> float:
    """How long one side takes, with nothing left to be written by others."""
    place.mkdir()
    os.sync()
    started = time.perf_counter()
    side(upper, place)
    took = time.perf_counter() - started
    shutil.rmtree(place)
    return took


def measure(rounds: int, folder: str | None) -> Report:
    """Both sides in turn."""
    report = Report("commit")
    with tempfile.TemporaryDirectory(prefix="ctxmode-commit-", dir=folder) as made:
        upper = Path(made) / "upper"
        fill(upper / "node_modules")
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(seconds(copied, upper, Path(made) / "copied"))
            ours.append(seconds(committed, upper, Path(made) / "committed"))
    name = f"{FOLDERS * FILES:,} new files"
    report.rows.append(Row(name, summary(ours), summary(theirs)))
    report.notes = (f"{rounds} rounds, in turn with `cp -a` of the same tree",)
    return report


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--folder", metavar="FOLDER", help="where to write; as mktemp by default")
    args = parser.parse_args(argv)
    show(measure(args.rounds, args.folder), as_json=args.json)


if __name__ == "__main__":
    main()
