"""Verdicts: how long they take, on lines, real commands and mutated programs."""

from __future__ import annotations

import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

from benchmarks.commands import collect_commands, read_commands
from benchmarks.corpus import HOME, RULE_SETS, judge_all, parse_rules
from benchmarks.harness import DATA, ROOT, Bench, measure
from policy import Subject
from policy.deadline import SECONDS
from policy.decide import evaluate

_DATA = tomllib.loads((DATA / "verdicts.toml").read_text())


@measure(200)
async def verdict(bench: Bench) -> None:
    """Measure warm verdicts on texts not seen before, so that no parse is served from a cache."""
    rules = parse_rules(RULE_SETS["everyday"], "/w")
    numbers, lines = iter(range(1 << 30)), cycle(_DATA["lines"])

    def line() -> str:
        return str(next(lines)).format(n=next(numbers))

    def hundred_lines() -> str:
        number = next(numbers)
        return "".join(_DATA["ten_lines"].format(n=f"{number}_{index}") for index in range(10))

    def judge(texts: Iterator[str]) -> None:
        subject = Subject("shell", next(texts), cwd="/w", home=HOME, surface="agent_shell")
        evaluate(subject, rules)

    for name, write, bar in (("one line", line, "≤ 1 ms"), ("100 lines", hundred_lines, "≤ 5 ms")):
        texts = [write() for _ in range(2 * bench.rounds + 20)]
        side = partial(judge, iter(texts))
        await bench.time_sides(name, side, bar=bar)
        await bench.time_sides(f"{name}, of the processor", side, clock=time.process_time)


@measure(9)
async def cold_start(bench: Bench) -> None:
    """Measure a process that judges, as a hook's does, after each of its steps."""
    code = f"import sys; sys.path[:] = {sys.path!r}\n"

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)

    for name, step in _DATA["steps"].items():
        code += f"{step}\n"
        sides = partial(start, code), partial(start, "pass")
        await bench.time_sides(
            f"a process up to {name}", sides[0], "python -I -S -c pass", sides[1]
        )


@measure(1, projects=".", commands="-", max="3500", suspects="no")
def corpus(bench: Bench) -> None:
    """Measure how many real commands are refused, plainly or as suspects, and the time of each."""
    if bench.options["commands"] != "-":
        commands = read_commands(bench.path("commands"))
    else:
        named = bench.options["projects"].split(",")
        projects = [ROOT if one == "." else Path(one) for one in named]
        commands = collect_commands(projects, int(bench.options["max"]))
    for name, rulings in judge_all(commands, bench.make_folder("project")).items():
        suspects = [one for one in rulings if one.is_suspect]
        refused = sum(not one.verdict.allowed for one in rulings)
        bench.times(f"a check, {name}", [one.seconds for one in rulings])
        share = 100 / len(rulings)
        bench.value(f"refused plainly, {name}", share * (refused - len(suspects)), "%")
        bench.value(f"refused otherwise, {name}", share * len(suspects), "%")
        if bench.options["suspects"] == "yes":
            bench.notes += [f"{name}, {one.describe()}" for one in suspects]
    bench.notes.append(f"{len(commands):,} commands, warm, of the processor")


@measure(
    1, is_long=True, count="100000", seed="1", jobs="2", keep="~/.local/share/ctxmode/mutations"
)
def mutations(bench: Bench) -> None:
    """Measure checks of programs that were changed at random; each failure is kept in a folder."""
    from tests.policy.mutation_checks import (  # noqa: PLC0415 - the tests' own programs
        join_seeds,
        keep,
        prepare,
        real_seeds,
        run_checks,
        table_seeds,
    )

    count, seed, jobs = (int(bench.options[name]) for name in ("count", "seed", "jobs"))
    seeds = join_seeds(table_seeds(), real_seeds())
    checks = run_checks(
        prepare(bench.make_folder("run"), seeds, seed), count, jobs,
        lambda done: print(f"{done:,} of {count:,} programs", file=sys.stderr),
    )  # fmt: skip
    took = [one.seconds for one in checks]
    bench.times("a check of a mutated program, of the processor", took)
    bench.value("longest beyond the deadline", max(0.0, max(took) - SECONDS) * 1000, "ms")
    failures = sum(bool(one.failure) for one in checks)
    bench.value("exceptions, crashes and hangs", failures, bar="≤ 0")
    bench.notes += [f"{kind}: {n:,}" for kind, n in Counter(c.kind for c in checks).items() if kind]
    place = Path(bench.options["keep"]).expanduser()
    if failed := keep(checks, seed, seeds, place):
        bench.notes.append(f"{failed:,} programs failed; examples are in {place}")
