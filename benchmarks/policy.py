"""Verdicts: how long they take, on lines, real commands and mutated programs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.corpus import HOME, RULE_SETS, corpus, parse_rules
from benchmarks.harness import Bench, Measure, at_most
from policy import Subject, evaluate
from policy.deadline import SECONDS

LINES = (
    "git status --short",
    "ls -la src/ | head -{n}",
    "pytest -q tests/test_{n}.py -k 'a or b' 2>&1 | tail -30",
    'cd "$HOME/p{n}" && git diff --stat HEAD~{n} | sort -k2',
    'for f in *.c; do gcc -c "$f" -o "${{f%.c}}-{n}.o"; done',
    "grep -rn 'TODO({n})' --include='*.py' . | wc -l",
    'docker run --rm -v "$PWD:/w" -w /w img:{n} make test',
    "python3 manage.py migrate --database=db{n} && curl -sSf localhost:{n}/health -o /dev/null",
)
TEN_LINES = (
    "log() {{ printf '%s\\n' \"$*\" >&2; }}\n"
    'build_{n}() {{\n  local dir=$1 out=${{2:-dist}}\n  mkdir -p "$out"\n'
    '  if [ -f "$dir/Makefile" ]; then\n    make -C "$dir" -j"$(nproc)"\n'
    '  else\n    log "nothing to do in $dir"\n  fi\n}}\nbuild_{n} src/{n} || exit 1\n'
)
# What a hook's process does, each step with all before it.
STEPS = {
    "an import of policy": "import policy, pathlib",
    "loading rules": "here = pathlib.Path('.').resolve(); home = pathlib.Path.home(); "
    "rules = policy.load_rules(here, home=home)",
    "a plain line": "policy.evaluate(policy.Subject('shell', 'git status && ls -la'), rules)",
    "a line with a grammar": "policy.evaluate(policy.Subject('shell', 'if ls; then id; fi'), "
    "rules)",
}


async def verdict(bench: Bench) -> None:
    """Measure warm verdicts on texts not seen before, so that no parse is served from a cache."""
    rules = parse_rules(RULE_SETS["everyday"], "/w")
    numbers = iter(range(1 << 30))

    def line() -> str:
        number = next(numbers)
        return LINES[number % len(LINES)].format(n=number)

    def hundred_lines() -> str:
        number = next(numbers)
        return "".join(TEN_LINES.format(n=f"{number}_{index}") for index in range(10))

    def judge(text: str) -> None:
        subject = Subject("shell", text, cwd="/w", home=HOME, surface="agent_shell")
        evaluate(subject, rules)

    for name, write, bar in (("one line", line, 1), ("100 lines", hundred_lines, 5)):
        texts = [write() for _ in range(2 * bench.rounds + 20)]
        side = partial(_judge_next, iter(texts), judge)
        (wall,) = await bench.turns(side)
        (processor,) = await bench.turns(side, clock=time.process_time)
        bench.times(name, wall, bar=at_most(bar))
        bench.times(f"{name}, of the processor", processor)


def _judge_next(texts: Iterator[str], judge: Callable[[str], None]) -> None:
    judge(next(texts))


async def cold_start(bench: Bench) -> None:
    """Measure a process that judges, as a hook's does, after each of its steps."""
    code = f"import sys; sys.path[:] = {sys.path!r}\n"

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)

    for name, step in STEPS.items():
        code += f"{step}\n"
        took, bare = await bench.turns(partial(start, code), partial(start, "pass"))
        bench.times(f"a process up to {name}", took, "python -I -S -c pass", bare)


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
    bench.value(
        "exceptions, crashes and hangs", sum(bool(c.failure) for c in checks), "", at_most(0)
    )
    bench.notes += [f"{kind}: {n:,}" for kind, n in Counter(c.kind for c in checks).items() if kind]
    place = Path(bench.options["keep"]).expanduser()
    if failed := keep(checks, seed, seeds, place):
        bench.notes.append(f"{failed:,} programs failed; examples are in {place}")


MEASURES = (
    Measure("policy.verdict", "warm verdicts on one line and on a hundred", verdict, rounds=200),
    Measure("policy.cold_start", "a process that judges, beside one that does nothing", cold_start,
            rounds=9),
    Measure("policy.corpus", "real commands under three sets of rules: refusals and time", corpus,
            rounds=1, options={"projects": ".", "commands": "-", "max": "3500", "suspects": "no"}),
    Measure("policy.mutations", "mutated programs in all languages: failures and time", mutations,
            rounds=1, is_long=True, options={"count": "100000", "seed": "1", "jobs": "2",
                                             "keep": "~/.local/share/ctxmode/mutations"}),
)  # fmt: skip
