"""Engines, programs by hand and bubblewrap: what runs are measured with."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

import runtimes
from benchmarks.harness import Bench
from ctxmode.config.rules import load
from executor import LanguageReport, LocalEngine, Request, Settings, open_engine
from executor.engine import box

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
NO_BUBBLEWRAP = "bubblewrap is missing: apt-get install --no-install-recommends bubblewrap"
_TICK_S, _TICKS_MAX = 0.02, 250


@asynccontextmanager
async def opened(
    bench: Bench, name: str = "", *, has_rules: bool = False, settings: Settings | None = None
) -> AsyncIterator[LocalEngine]:
    """Open an engine for a project of a measure, by default with no rules."""
    project = bench.make_folder(str(Path(name, "project")))
    async with open_engine(
        project=project,
        state_dir=bench.folder / name / "state",
        rules=partial(load, project, Path.home()) if has_rules else None,
        home=Path.home(),
        settings=settings or Settings(),
    ) as engine:
        yield engine


async def time_run(engine: LocalEngine, request: Request, printed: str | None = None) -> float:
    """Return the seconds from a request to its result.

    Raises:
        RuntimeError: the run failed, or did not print what it should.
    """
    began = time.perf_counter()
    completed = await engine.run(request)
    took = time.perf_counter() - began
    result = completed.result
    if not result.ok or printed not in (None, result.stdout.text):
        raise RuntimeError(f"{result.status} {result.message} {result.stderr.text}")
    if completed.stdout_spool:
        completed.stdout_spool.unlink(missing_ok=True)
    return took


async def run_prepared(engine: LocalEngine, request: Request, printed: str | None = None) -> float:
    """Run when what a run like the last one needs has been prepared, if anything is."""
    for _ in range(_TICKS_MAX):
        await trio.sleep(_TICK_S)
        if engine.pools and engine.pools[0].idle:
            break
    return await time_run(engine, request, printed)


def by_hand(argv: Sequence[str], printed: bytes | None = None) -> float:
    """Return the seconds that a command takes."""
    began = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, check=True)
    took = time.perf_counter() - began
    if printed not in (None, done.stdout):
        raise RuntimeError(f"{argv[0]} printed {done.stdout!r}")
    return took


@dataclass(frozen=True, slots=True)
class Prepared:
    """The hello program of a language in a folder: its command lines, and their environment."""

    commands: tuple[tuple[str, ...], ...]
    folder: str
    environment: Mapping[str, str]

    def start(self, command: Sequence[str]) -> str:
        """Run one of the commands; return what it prints."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, check=True
        )
        return done.stdout.decode()


@contextmanager
def prepared(candidate: runtimes.Candidate) -> Iterator[Prepared]:
    """Write the hello program of a language into a folder of its own."""
    with TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        job, scratch = Path(folder, "job"), Path(folder, "scratch")
        job.mkdir()
        (scratch / "home").mkdir(parents=True)
        program = runtimes.prepare(
            candidate,
            code=candidate.language.hello,
            job_dir=str(job),
            scratch_dir=str(scratch),
            cwd=folder,
        )
        for name, content in program.files.items():
            (job / name).write_bytes(content)
        for name, target in program.links.items():
            (job / name).symlink_to(target)
        environment = {
            "PATH": ":".join((*candidate.path_entries, SYSTEM_PATH)),
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch),
            **program.env,
        }
        yield Prepared(tuple(step.argv for step in program.steps), folder, environment)


def chosen(report: LanguageReport, project: Path) -> runtimes.Candidate:
    """Return the candidate that the engine reports to use."""
    row = runtimes.language(report.name)
    path = os.environ["PATH"].split(":")
    found, _ = runtimes.discover(row, path, project, Path.home(), os.environ)
    return next(c for c in found if (c.path, c.toolchain.name) == (report.path, report.toolchain))


def bubblewrap(project: Path, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that runs `argv` in bubblewrap; empty if it is not installed.

    It has the namespaces, read-only mounts, devices and tmpfs of a cell. It has no Landlock, no
    filter of system calls, no control group, and the project is only mounted to be read.
    """
    program = shutil.which("bwrap")
    if program is None:
        return ()
    options = [
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--uid", "65432", "--gid", "65432", "--hostname", box.HOSTNAME, "--clearenv"),
    ]
    for path in box.system_entries()[0]:
        options += ["--ro-bind", path, path]
    for target, link in box.system_entries()[1]:
        if not link.startswith("/dev/"):
            options += ["--symlink", target, link]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", box.SCRATCH]
    options += ["--tmpfs", box.HOME, "--ro-bind", str(project), str(project)]
    options += ["--chdir", str(project), "--setenv", "PATH", os.defpath]
    return (program, *options, *argv)
