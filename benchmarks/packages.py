"""Packages of Python: their first use, beside `uv pip install`, and the second, beside none."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.engine import opened, run_prepared, time_run
from benchmarks.harness import ROOT, Bench, NotMeasuredError, Side, measure, time_side
from benchmarks.processes import PROGRAM, make_environment, start
from ctxmode.config.engine_settings import engine_settings
from ctxmode.config.locations import load_config
from executor import PackagesError, Request, Settings
from runtimes.packages.registry import BY_NAME
from runtimes.packages.tools import find_tool

CODE = "print(1)"


@measure(10, is_long=True, package="pandas")
async def uses(bench: Bench) -> None:
    """Measure a package of the configured registry, in a new store."""
    package = bench.options["package"]
    settings, _ = engine_settings(load_config(str(bench.make_folder("project"))))
    plain, layered = Request("python", CODE), Request("python", CODE, packages=(package,))
    async with (
        opened(bench, settings=replace(settings, prewarm=False)) as cold,
        opened(bench, settings=settings) as warm,
    ):
        await time_run(cold, plain)
        try:
            first = await time_run(cold, layered, "1\n")
        except PackagesError as error:
            raise NotMeasuredError(f"{error}; {error.hint}") from None
        waiting = [partial(run_prepared, warm, request, "1\n") for request in (layered, plain)]
        by_warm = await bench.turns(*waiting, warm_up=3)
        colds = [partial(time_run, cold, request, "1\n") for request in (layered, plain)]
        by_cold = await bench.turns(*colds)
    by_uv = await time_side(_install(bench, package, settings))
    bench.times(f"{package}, first use", [first], "uv pip install", [by_uv])
    bench.times("second use, warm", by_warm[0], "without packages", by_warm[1])
    bench.times("second use, cold", by_cold[0], "without packages", by_cold[1])
    commands = [_command(bench, "--packages", package), _command(bench)]
    await bench.time_sides(
        "second use, context-mode run", commands[0], "without packages", commands[1]
    )


def _install(bench: Bench, package: str, settings: Settings) -> Side:
    """Return what installs by uv into a folder, with an empty cache, and compiles."""
    tool = find_tool(BY_NAME["python"].tools[0])
    assert tool is not None  # else the first use had failed
    registry = settings.packages.registries.get("python")
    index = registry.url if registry and registry.url else BY_NAME["python"].registry
    environment = {**os.environ, "UV_CACHE_DIR": str(bench.folder / "cache")}
    target = ("--target", str(bench.folder / "to"), "--only-binary", ":all:", "-q")
    command = [tool[0], "pip", "install", "--default-index", index, "--compile-bytecode", *target]

    return partial(subprocess.run, [*command, package], env=environment, check=True)


def _command(bench: Bench, *options: str) -> Side:
    environment = {**make_environment(bench.folder), "PYTHONPATH": str(ROOT)}
    words = (*PROGRAM, "run", *options, "python", "-c", CODE)
    return lambda: start(words, environment, Path(bench.folder, "project"))[0]
