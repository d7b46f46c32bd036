"""What it costs to index a folder of many small files of many kinds, as `context-mode index` does.

    python -m benchmarks.kb_mixed FOLDER [--by-suffix] [--rounds N]

FOLDER gets what is downloaded: documentation from Debian, packages from npm. A project is made of
these and of Python's standard library, some 50 MB in some 8,000 files, the same ones each time. It
is indexed by the command in a process of its own into a store of its own. Processor time is user
and system, of the command and of its workers apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.kb_corpora import SEED, fetch

PACKAGES = ("python3.11-doc", "python-django-doc", "git-doc")
NPM = (
    *("express@4.19.2", "lodash@4.17.21", "typescript@5.4.5", "react@18.3.1", "rxjs@7.8.1"),
    *("date-fns@2.30.0", "axios@1.7.2", "eslint@8.57.0"),
)
SHARES = {"stdlib": 13_000_000, "docs": 15_000_000, "packages": 22_000_000}
"""Bytes of each part of the project."""

HEADER = (
    "files of    files      MB  chunks  wall s   CPU s  parent  workers  MB/CPU s  db/text   load"
)
LEAST_BYTES = 200_000
FILE_BYTES_MAX = 1_000_000
_TEXTS = re.compile(r"\.(py|txt|rst|html|md|js|mjs|cjs|ts|mts|json|map|flow|yml|css)$")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: what was indexed, seconds that passed, and seconds of processor time."""

    files: int
    disk_bytes: int
    text_bytes: int
    chunks: int
    database_bytes: int
    wall_s: float
    parent_s: float
    workers_s: float

    def row(self, name: str) -> str:
        cpu_s = self.parent_s + self.workers_s
        return (
            f"{name:9}{self.files:7}{self.disk_bytes / 1e6:8.2f}{self.chunks:8}{self.wall_s:8.1f}"
            f"{cpu_s:8.1f}{self.parent_s:8.1f}{self.workers_s:9.1f}"
            f"{self.disk_bytes / cpu_s / 1e6:10.2f}{self.database_bytes / self.text_bytes:9.2f}"
            f"{os.getloadavg()[0]:7.1f}"
        )


def make_project(folder: Path) -> Path:
    """Make the project below `folder`, unless it is there; its parts in folders of their own."""
    project = folder / "project"
    if project.exists():
        return project
    fetch(folder / "debian", PACKAGES)
    npm = folder / "npm"
    if not npm.exists():
        npm.mkdir()
        (npm / "package.json").write_text('{"private": true}')
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        subprocess.run(["npm", "install", *options, *NPM], cwd=npm, check=True, timeout=600)
    half_made = folder / "half-made"
    shutil.rmtree(half_made, ignore_errors=True)
    roots = {
        "stdlib": Path(sysconfig.get_path("stdlib")),
        "docs": folder / "debian",
        "packages": npm / "node_modules",
    }
    for part, root in roots.items():
        for path in _chosen(root, SHARES[part]):
            target = half_made / part / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    half_made.rename(project)
    return project


def _chosen(root: Path, most: int) -> Iterator[Path]:
    """Files below `root` in an order by chance, of `most` bytes together."""
    paths = [
        path
        for path in sorted(root.rglob("*"))
        if _TEXTS.search(path.name)
        and not {"site-packages", "test", "tests"} & set(path.relative_to(root).parts[:-1])
        and path.is_file()
        and not path.is_symlink()
        and path.stat().st_size < FILE_BYTES_MAX
    ]
    random.Random(SEED).shuffle(paths)
    for path in paths:
        most -= path.stat().st_size
        if most < 0:
            return
        yield path


def index(project: Path, *options: str) -> Cost:
    """Index the project by the command, in a process of its own and into a store of its own."""
    with tempfile.TemporaryDirectory() as home:
        report = Path(home) / "cost.json"
        environment = {**os.environ, "HOME": home, "CONTEXT_MODE_DIR": home}
        environment["PYTHONPATH"] = str(Path(__file__).parents[1])
        program = [sys.executable, "-m", "benchmarks.kb_mixed", "--index", str(report), "--"]
        command = ["index", ".", "--project", str(project), *options]
        subprocess.run([*program, *command], cwd=project, env=environment, check=True)
        return Cost(**json.loads(report.read_text()))


def _index_here(report: Path, command: list[str]) -> None:
    """Do it in this process, end the workers, and write what it cost."""
    from contextlib import redirect_stdout  # noqa: PLC0415 - as little as possible is measured

    from ctxmode.cli import main as run  # noqa: PLC0415
    from ctxmode.config.locations import load_config  # noqa: PLC0415
    from kb.workers import pool  # noqa: PLC0415

    started = time.perf_counter()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        status = run(command)
    wall_s = time.perf_counter() - started
    if status:
        raise SystemExit(status)
    pool.restart()
    own, others = (
        resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    database = load_config(command[command.index("--project") + 1]).database
    sizes = [path.stat().st_size for path in database.parent.glob(f"{database.name}*")]
    with closing(sqlite3.connect(database)) as db:
        files, disk, text, chunks = db.execute(
            "SELECT count(*), total(file_size), total(bytes_indexed),"
            " (SELECT count(*) FROM chunk) FROM source"
        ).fetchone()
    cost = Cost(
        int(files), int(disk), int(text), int(chunks), sum(sizes), wall_s,
        own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime,
    )  # fmt: skip
    report.write_text(json.dumps(asdict(cost)))


def suffixes(project: Path) -> list[str]:
    """The suffixes of the project's files, those with most bytes first."""
    sizes: Counter[str] = Counter()
    for path in project.rglob("*.*"):
        sizes[path.suffix.lstrip(".")] += path.stat().st_size
    return [suffix for suffix, size in sizes.most_common() if size > LEAST_BYTES]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path, nargs="?", help="for what is downloaded")
    arguments.add_argument("--by-suffix", action="store_true", help="each kind of file alone, too")
    arguments.add_argument("--rounds", type=int, default=1, metavar="N")
    arguments.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    given, _ = arguments.parse_known_args()
    if given.index is not None:
        _index_here(given.index, sys.argv[sys.argv.index("--") + 1 :])
        return
    if given.folder is None:
        arguments.error("name a folder for what is downloaded")
    project = make_project(given.folder.absolute())
    print(HEADER)
    for _ in range(given.rounds):
        print(index(project).row("all"), flush=True)
    for suffix in suffixes(project) if given.by_suffix else ():
        print(index(project, "--include", f"*.{suffix}").row(suffix), flush=True)


if __name__ == "__main__":
    main()
