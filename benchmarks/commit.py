"""A commit of many new files beside `cp -a`: `python -m benchmarks.commit [--rounds N] [--json]`.

The files are 40,000 small ones as in a node_modules; all sides write them to the same disk, in
turn: a commit that copies them, as a session's, and one that moves them, as that of a run whose
layers lie there. With `--folder` it is another file system's, as one that shares contents (btrfs,
xfs).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from executor.project.commit import commit
from executor.project.rules.names import NAMES
from executor.project.store.store import ChangeStore
from executor.project.view import record
from executor.project.view.upper import of_upper

FOLDERS, FILES = 2_000, 20


def fill(top: Path) -> None:
    """Make packages of files of 0.5 to 2.5 KiB."""
    for number in range(FOLDERS):
        folder = top / f"package{number % 400}" / f"lib{number}"
        folder.mkdir(parents=True)
        for each in range(FILES):
            (folder / f"file{each}.js").write_text("x" * (500 + each * 100))


def committed(upper: Path, place: Path, *, may_move: bool = False) -> None:
    """Read the upper folder and commit it to an empty project."""
    (place / "project").mkdir()
    begun = record.take(place / "project", ())
    descriptor = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
    changes = replace(of_upper(descriptor, begun), may_move=may_move)
    outcome = commit(changes, NAMES, ChangeStore(place / "state"), label="benchmark")
    os.close(changes.contents)
    os.close(descriptor)
    if outcome.left_out or len(outcome.changed) < FOLDERS * FILES:
        raise RuntimeError(f"not all was committed: {outcome.left_out[:3]}")


def moved(upper: Path, place: Path) -> None:
    """The same, where nobody needs the upper folder any more."""
    committed(upper, place, may_move=True)


def copied(upper: Path, place: Path) -> None:
    """Copy the same with the system's own tool."""
    subprocess.run(["cp", "-a", upper / "node_modules", place], check=True)


def seconds(side: Callable[[Path, Path], None], upper: Path, place: Path) -> float:
    """How long one side takes, with nothing left to be written by others."""
    place.mkdir()
    subprocess.run(["sync", "-f", place], check=True)
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
        took: dict[str, list[float]] = {side.__name__: [] for side in (copied, committed, moved)}
        for _ in range(rounds):
            fill(upper / "node_modules")
            for side in (copied, committed, moved):
                took[side.__name__].append(seconds(side, upper, Path(made) / side.__name__))
            shutil.rmtree(upper)
    theirs = summary(took["copied"])
    name = f"{FOLDERS * FILES:,} new files"
    report.rows.append(Row(f"{name}, copied", summary(took["committed"]), theirs))
    report.rows.append(Row(f"{name}, moved", summary(took["moved"]), theirs))
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
