"""Runs that may change a project: the view that they get, and the commit of what they changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial

from benchmarks.engine import opened, time_run
from benchmarks.harness import Bench, measure, write_files
from executor import Request
from executor.project.git.repository_export import NothingToRead
from executor.project.rules.names import NAMES
from executor.project.store.store import ChangeStore, commit_changes
from executor.project.view import record
from executor.project.view.comparison import of_upper
from executor.request import ANALYZE, BUILD
from executor.settings import Settings

PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}


GIT = "git -c user.name=x -c user.email=x@example.org commit -qam more"


@measure(8, files="300,2000")
async def views(bench: Bench) -> None:
    """Measure `build` in repositories: a word said, 300 files changed, those committed with git."""
    for count in map(int, bench.options["files"].split(",")):
        project = bench.make_folder(f"{count}/project")
        write_files(project, ((f"d{n % 100}/{n}.txt", f"{n}\n") for n in range(count)))
        subprocess.run(["sh", "-ec", f"git init -q; git add .; {GIT}"], cwd=project, check=True)
        change = "for n in $(seq 0 299); do echo $$ >> d$((n % 100))/$n.txt; done"
        async with opened(bench, str(count), settings=Settings(profiles=PROFILES)) as engine:
            build, changed, committed = (
                partial(time_run, engine, Request("shell", code, profile="build"))
                for code in ("echo word", change, f"{change}; {GIT}")
            )
            analyze = partial(time_run, engine, Request("shell", "echo word"))
            await bench.time_sides(f"echo under build, {count:,} files", build, "analyze", analyze)
            await bench.time_sides("300 of them changed, committed", committed, "not", changed)


@measure(2, is_long=True, files="40000")
async def commits(bench: Bench) -> None:
    """Measure a commit of many new files."""
    count = int(bench.options["files"])
    upper, target = bench.folder / "upper", bench.folder / "target"

    def ours() -> None:
        (target / "project").mkdir()
        begun = record.take(target / "project", ())
        descriptor = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
        changes = of_upper(descriptor, begun)
        store, read = ChangeStore(target / "state"), NothingToRead(target)
        outcome = commit_changes(changes, NAMES, store, label="benchmark", read=read)
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

    copied, by_cp = await bench.turns(ours, copy, before=prepare, warm_up=0)
    bench.times(f"{count:,} new files, copied", copied, "cp -a", by_cp)
