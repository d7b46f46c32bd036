"""What committing costs a build: `python -m benchmarks.live [--rounds N] [--json]`.

The same work under `build`, which sees the project copy-on-write and has what changed committed,
and under a profile that has the project bound as it is; the two take turns, each from the same
state of the project. Then a shell that says one word under `build` and under `analyze`, in
projects of two sizes, and the calls a second of one session under both.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from benchmarks.report import Report, Row, argument_parser, show, summary
from executor import LocalEngine, Request, open_engine
from executor.profile import ANALYZE, BUILD, Profile, ProjectAccess
from executor.settings import Settings

COMPILE_BAR = 1.15
SLICE_S = 3.0
C_FILES, C_FUNCTIONS = 60, 12
PACKAGES, FILES_OF_PACKAGE = 250, 20
TIMEOUT_S = 300.0
LIVE = Profile("live", ProjectAccess.LIVE)
PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD, LIVE)}
MAKEFILE = """\
OBJECTS := $(patsubst %.c,%.o,$(wildcard */*.c))
app: $(OBJECTS)
\t$(CC) -o $@ $^
%.o: %.c
\t$(CC) -O2 -c -o $@ $<
"""
GO_PACKAGES = 40


def plant_c(folder: Path) -> None:
    """C files in several folders, each with some work for a compiler."""
    (folder / "Makefile").write_text(MAKEFILE)
    for number in range(C_FILES):
        path = folder / f"part{number % 6}/file{number}.c"
        path.parent.mkdir(exist_ok=True)
        functions = (
            f"int f{number}_{n}(int x) {{ for (int i = 0; i < x; i++) x ^= i * {n}; "
            f'printf("%d", x); return x; }}\n'
            for n in range(C_FUNCTIONS)
        )
        main = "int main(void) { return 0; }\n" if number == 0 else ""
        path.write_text("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(functions) + main)


def unmake_c(folder: Path) -> None:
    for path in (*folder.glob("*/*.o"), folder / "app"):
        path.unlink(missing_ok=True)


def plant_go(folder: Path) -> None:
    """A module of several packages that use the library's heavier ones."""
    (folder / "go.mod").write_text("module example.org/app\n\ngo 1.18\n")
    names = [f"part{number}" for number in range(GO_PACKAGES)]
    for name in names:
        (folder / name).mkdir()
        (folder / name / "it.go").write_text(
            f'package {name}\n\nimport "fmt"\n\n'
            + "".join(
                f'func F{n}(x int) string {{ return fmt.Sprintf("%d %v", x*{n}, []int{{x}}) }}\n'
                for n in range(C_FUNCTIONS)
            )
        )
    imports = "".join(f'import "example.org/app/{name}"\n' for name in names)
    calls = "".join(f"\tprintln({name}.F1(1))\n" for name in names)
    (folder / "main.go").write_text(f"package main\n\n{imports}\nfunc main() {{\n{calls}}}\n")


def unmake_go(folder: Path) -> None:
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    (folder / "app").unlink(missing_ok=True)


def plant_packages(folder: Path) -> None:
    """An archive of many small files, as a package manager has one for each package."""
    source = folder / "node_modules"
    for package in range(PACKAGES):
        top = source / f"package{package}" / "lib"
        top.mkdir(parents=True)
        for number in range(FILES_OF_PACKAGE):
            (top / f"{number}.js").write_text(f"module.exports = {number};\n" * 40)
    with tarfile.open(folder / "packages.tar", "w") as archive:
        archive.add(source, "node_modules")
    shutil.rmtree(source)


def unmake_packages(folder: Path) -> None:
    shutil.rmtree(folder / "node_modules", ignore_errors=True)


def plant_files(count: int) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        for number in range(count):
            path = folder / f"d{number // 100}" / f"{number}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{number}\n")

    return plant


WORK: dict[str, tuple[str, str, Callable[[Path], None], Callable[[Path], None], float | None]] = {
    f"make, {C_FILES} C files": ("make", "make -s -j2", plant_c, unmake_c, COMPILE_BAR),
    f"go build, {GO_PACKAGES} packages": (
        *("go", "GOCACHE=$PWD/.cache GOFLAGS= go build -o app ."),
        *(plant_go, unmake_go, COMPILE_BAR),
    ),
    f"unpacking {PACKAGES * FILES_OF_PACKAGE:,} files": (
        *("tar", "tar -xf packages.tar"),
        *(plant_packages, unmake_packages, None),
    ),
}


@asynccontextmanager
async def opened(plant: Callable[[Path], None]) -> AsyncIterator[LocalEngine]:
    """An executor for a project that was planted."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        os.chmod(folder, 0o711)
        project = Path(folder, "project")
        project.mkdir()
        plant(project)
        async with open_engine(
            project=project,
            state_dir=Path(folder, "state"),
            rules=None,
            home=Path.home(),
            settings=Settings(profiles=PROFILES),
        ) as executor:
            yield executor


async def seconds_of(executor: LocalEngine, code: str, profile: str, session: str | None) -> float:
    """How long a program took, from the request to its result."""
    request = Request("shell", code, profile=profile, session=session, timeout_s=TIMEOUT_S)
    started = time.perf_counter()
    result = (await executor.run(request)).result
    took = time.perf_counter() - started
    if result.exit_code != 0 or result.not_committed:
        raise RuntimeError(f"{result.status} {result.message} {result.stderr.text}")
    return took


async def in_turn(
    executor: LocalEngine,
    code: str,
    profiles: tuple[str, str],
    rounds: int,
    unmake: Callable[[Path], None] = lambda _: None,
) -> tuple[list[float], list[float]]:
    """What both profiles took, after a first round of each that is thrown away."""
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for profile, samples in zip(profiles, took, strict=True):
            await trio.to_thread.run_sync(unmake, executor.project)
            seconds = await seconds_of(executor, code, profile, None)
            if number:
                samples.append(seconds)
    return took


async def calls_per_s(executor: LocalEngine, profile: str) -> float:
    await seconds_of(executor, "echo word", profile, profile)
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SLICE_S:
        await seconds_of(executor, "echo word", profile, profile)
        count += 1
    return count / (time.perf_counter() - started)


async def measure(rounds: int) -> Report:
    report = Report("live")
    missing = []
    for name, (tool, code, plant, unmake, bar) in WORK.items():
        if not shutil.which(tool, path="/usr/bin"):
            missing.append(f"{name}: there is no {tool}")
            continue
        async with opened(plant) as executor:
            ours, other = await in_turn(executor, code, ("build", "live"), rounds, unmake)
        report.add(Row(f"{name}, beside live", summary(ours), summary(other), bar))
    for count in (300, 2_000, 40_000):
        async with opened(plant_files(count)) as executor:
            ours, other = await in_turn(executor, "echo word", ("build", "analyze"), 4 * rounds)
            if count == 300:
                for profile in ("analyze", "build"):
                    figure = f"session calls per_s in {profile}, {count} files"
                    report.figures[figure] = await calls_per_s(executor, profile)
        report.add(Row(f"echo, {count:,} files, beside analyze", summary(ours), summary(other)))
    report.notes = (f"{rounds} rounds each, in turn, after one that is thrown away", *missing)
    return report


def main(argv: list[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    args = parser.parse_args(argv)
    show(trio.run(measure, args.rounds), as_json=args.json)


if __name__ == "__main__":
    main()
