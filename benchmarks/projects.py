"""Runs that may change a project: the view that they get, and the commit of what they changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from functools import partial

from benchmarks.engine import opened, run
from benchmarks.harness import Bench, measure, write_files
from executor import Request
from executor.profile import ANALYZE, BUILD
from executor.project.commit import commit
from executor.project.rules.names import NAMES
from executor.project.store.store import ChangeStore, NothingToRead
from executor.project.view import record
from executor.project.view.comparison import of_upper
from executor.settings import Settings

PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}


@measure(8, files="300,2000")
async def views(bench: Bench) -> None:
    """Measure a shell that says one word under `build`, in projects of several sizes."""
    for count in map(int, bench.options["files"].split(",")):
        files = ((f"d{n // 100}/{n}.txt", f"{n}\n") for n in range(count))
        write_files(bench.make_folder(f"{count}/project"), files)
        async with opened(bench, str(count), settings=Settings(profiles=PROFILES)) as engine:
            build, analyze = (
                partial(run, engine, Request("shell", "echo word", profile=name))
                for name in ("build", "analyze")
            )
            await bench.time_sides(f"echo under build, {count:,} files", build, "analyze", analyze)


@measure(2, is_long=True, files="40000", folder="-")
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
        store, read = ChangeStore(target / "state"), NothingToRead(target)
        outcome = commit(changes, NAMES, store, label="benchmark", read=read)
        os.close(changes.contents)
        if outcome.left_out or len(outcome.changed) < count:
            raise RuntimeError(f"not all was committed: {outcome.left_out[:3]}")

    def copy() -> None:
        subprocess.run(["cp", "-a", upper / "node_modules", target], check=True)

    def prepare() -> None:
        for folder in (upper, target):
            shutil.rmtree(folder, ignore_errors=True)
        target.mkdir()
        files = (  # of 0.5 to 2.5 KiB, twenty to a package
            (f"package{n // 20}/lib/file{n % 20}.js", "x" * (500 + n % 20 * 100))
            for n in range(count)
        )
        write_files(upper / "node_modules", files)
        subprocess.run(["sync", "-f", target], check=True)

    copied, moved, by_cp = await bench.turns(
        partial(ours, may_move=False), partial(ours, may_move=True), copy, before=prepare, warm_up=0
    )
    bench.times(f"{count:,} new files, copied", copied, "cp -a", by_cp)
    bench.times(f"{count:,} new files, moved", moved, "cp -a", by_cp)
    for folder in (upper, target):
        shutil.rmtree(folder)
