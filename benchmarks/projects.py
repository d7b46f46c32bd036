"""Runs that may change a project: the view that they get, and the commit of what they changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.engine import run
from benchmarks.harness import Bench, Measure
from executor import LocalEngine, Request, open_engine
from executor.profile import ANALYZE, BUILD
from executor.project.commit import commit
from executor.project.rules.names import NAMES
from executor.project.store.store import ChangeStore
from executor.project.view import record
from executor.project.view.upper import of_upper
from executor.settings import Settings

PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}


def write_files(
    folder: Path, name: Callable[[int], str], text: Callable[[int], str], n: int
) -> None:
    """Write `n` files of a project, by their numbers."""
    for number in range(n):
        path = folder / name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(number))


def write_packages(folder: Path, count: int) -> None:
    """Write files of 0.5 to 2.5 KiB, twenty to a package."""
    write_files(
        folder,
        lambda number: f"package{number // 20}/lib/file{number % 20}.js",
        lambda number: "x" * (500 + number % 20 * 100),
        count,
    )


@asynccontextmanager
async def _opened(
    bench: Bench, name: str, plant: Callable[[Path], None]
) -> AsyncIterator[LocalEngine]:
    place = bench.make_folder(name)
    project = bench.make_folder(f"{name}/project")
    plant(project)
    async with open_engine(
        project=project,
        state_dir=place / "state",
        rules=None,
        home=Path.home(),
        settings=Settings(profiles=PROFILES),
    ) as engine:
        yield engine
    shutil.rmtree(place)


async def views(bench: Bench) -> None:
    """Measure a shell that says one word under `build`, in projects of several sizes."""
    for count in map(int, bench.options["files"].split(",")):
        plant = partial(
            write_files,
            name=lambda number: f"d{number // 100}/{number}.txt",
            text=lambda number: f"{number}\n",
            n=count,
        )
        async with _opened(bench, str(count), plant) as engine:
            took, analyze = await bench.turns(
                partial(run, engine, Request("shell", "echo word", profile="build")),
                partial(run, engine, Request("shell", "echo word", profile="analyze")),
            )
        bench.times(f"echo under build, {count:,} files", took, "analyze", analyze)


async def commits(bench: Bench) -> None:
    """Measure a commit of many new files: copied, as a session's, or moved, as a run's."""
    count, place = int(bench.options["files"]), bench.folder
    if bench.options["folder"] != "-":  # another file system, as one that shares contents
        place = bench.path("folder")
    upper, target = place / "upper", place / "target"

    def ours(*, may_move: bool) -> None:
        (target / "project").mkdir()
        begun = record.take(target / "project", ())
        descriptor = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
        changes = replace(of_upper(descriptor, begun), may_move=may_move)
        outcome = commit(changes, NAMES, ChangeStore(target / "state"), label="benchmark")
        os.close(changes.contents)
        os.close(descriptor)
        if outcome.left_out or len(outcome.changed) < count:
            raise RuntimeError(f"not all was committed: {outcome.left_out[:3]}")

    def copy() -> None:
        subprocess.run(["cp", "-a", upper / "node_modules", target], check=True)

    def prepare() -> None:
        for folder in (upper, target):
            shutil.rmtree(folder, ignore_errors=True)
        target.mkdir()
        write_packages(upper / "node_modules", count)
        subprocess.run(["sync", "-f", target], check=True)

    copied, moved, by_cp = await bench.turns(
        partial(ours, may_move=False), partial(ours, may_move=True), copy, before=prepare, warm_up=0
    )
    bench.times(f"{count:,} new files, copied", copied, "cp -a", by_cp)
    bench.times(f"{count:,} new files, moved", moved, "cp -a", by_cp)
    for folder in (upper, target):
        shutil.rmtree(folder)


MEASURES = (
    Measure("projects.views", "one word under build, beside analyze", views, rounds=8,
            options={"files": "300,2000"}),
    Measure("projects.commits", "a commit of many new files, beside cp -a", commits, rounds=2,
            is_long=True, options={"files": "40000", "folder": "-"}),
)  # fmt: skip
