"""Many programs through the guard, each timed, in children that a hang or a crash may end.

The kernel keeps the limit of processor time, so that what hangs in C code is ended as well and is
known by the program that the child was at; another child goes on behind it.
"""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import policy
from benchmarks.mutations import Program, mutate
from benchmarks.policy import rules
from policy.script_texts import script_texts
from runtimes import LANGUAGES

KILL_S = 3.0  # of processor time: what takes longer is ended, if nothing else is said
WALL_S = 120  # what waits for something else than the processor is ended, too
MEMORY_BYTES = 3 << 30
CHUNK = 500  # programs of one child
FILES = {
    "s.sh": "rm -rf build\n",
    "clean.sh": "#!/bin/sh\nsudo id\n",
    "x.py": "import os\nos.system('sudo id')\n",
    "Makefile": "build:\n\trm -rf build\n",
    "package.json": '{"scripts": {"test": "sudo id"}}\n',
    ".env": "A=1\n",
}
_ENDED = "ended by "
_rules = functools.cache(rules)


class Check(NamedTuple):
    """How one program was judged, in seconds of processor time.

    `failure` says what was raised and where, or by which signal the child ended; empty where
    neither was so. `trace` is all that was said about it.
    """

    number: int
    language: str
    seconds: float
    coverage: str
    decision: str
    failure: str = ""
    trace: str = ""

    @property
    def was_ended(self) -> bool:
        """Whether the program took its child with it."""
        return self.failure.startswith(_ENDED)


class Run(NamedTuple):
    """A folder with the seeds and a project, the seed of the chances, and the limit of a check."""

    folder: str
    seed: int
    kill_s: float


def prepare(folder: Path, seeds: dict[str, list[str]], seed: int, *, kill_s: float = KILL_S) -> Run:
    """Write what the children need into an empty folder."""
    (folder / "seeds.json").write_text(json.dumps(seeds))
    project = folder / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text)
    return Run(str(folder), seed, kill_s)


def run_checks(run: Run, count: int, jobs: int, tell: Callable[[int], None]) -> list[Check]:
    """The checks of the first `count` programs; `tell` gets how many are done, now and then."""
    done = 0

    def chunk(first: int) -> list[Check]:
        nonlocal done
        checks = list(_run_chunk(run, first, min(count, first + CHUNK)))
        done += len(checks)
        tell(done)
        return checks

    with ThreadPoolExecutor(jobs) as lanes:
        return [check for part in lanes.map(chunk, range(0, count, CHUNK)) for check in part]


def _run_chunk(run: Run, first: int, end: int) -> Iterator[Check]:
    """The checks of the programs from `first` to before `end`, by as many children as it takes."""
    while first < end:
        checks, death = _run_child(run, first, end)
        yield from checks
        first += len(checks)
        if death and first < end:
            reason, _, trace = death.partition("\n")
            yield Check(first, "", run.kill_s, "", "", _ENDED + reason, trace)
            first += 1


def _run_child(run: Run, first: int, end: int) -> tuple[list[Check], str]:
    """The checks of one child, and how it died; empty where it did not."""
    arguments = [*map(str, run), str(first), str(end)]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.policy_checks", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    checks = [Check(*json.loads(line)) for line in done.stdout.splitlines()]
    if not done.returncode:
        return checks, ""
    code = done.returncode
    return checks, f"{signal.Signals(-code).name if code < 0 else f'exit {code}'}\n{said}"


# In a child


def check(number: int, program: Program, project: str) -> Check:
    """Judge one program as it is judged before it runs, on the agent's shell or in the sandbox."""
    on_agent_shell = program.language == "shell" and number % 3 == 0
    subject = policy.Subject(
        program.language, program.code, project, project, str(Path.home()),
        surface="agent_shell" if on_agent_shell else "sandbox",
    )  # fmt: skip
    coverage = decision = failure = trace = ""
    texts = script_texts(project)
    began = time.thread_time()  # the clock of the process is a coarse one while its timer runs
    try:
        verdict = policy.evaluate(subject, _rules(), real_path=policy.real_path, read_text=texts)
        coverage, decision = verdict.coverage, verdict.decision.word
        json.dumps(verdict.to_json()).encode()
    except Exception as error:
        trace = traceback.format_exc()
        failure = f"{type(error).__name__} at {_place(error)}"
    seconds = time.thread_time() - began
    return Check(number, program.language, seconds, coverage, decision, failure, trace)


def _place(error: Exception) -> str:
    """The last line of the guard's own that an exception went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/policy/" in frame.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "a line of others"


def judge_programs(run: Run, numbers: Iterable[int]) -> None:
    """Judge programs one after the other; each that is done is a line of standard output."""
    seeds = json.loads(Path(run.folder, "seeds.json").read_text())
    project = str(Path(run.folder, "project"))
    for language in LANGUAGES:  # what is loaded once is no part of a check
        check(0, Program(language.name, language.hello), project)
    for number in numbers:
        program = mutate(number, run.seed, seeds)
        signal.setitimer(signal.ITIMER_PROF, run.kill_s)
        signal.alarm(WALL_S)
        done = check(number, program, project)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(done), flush=True)


def limit_child() -> None:
    """Bound memory, and say where the child was when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    for timer in (signal.SIGPROF, signal.SIGALRM):
        faulthandler.register(timer, chain=True)  # and then what it does by default: it ends us


def main(arguments: Sequence[str]) -> None:
    """Judge the programs of the numbers given, as a child of `run_checks`."""
    folder, seed, kill_s, first, end = arguments
    limit_child()
    judge_programs(Run(folder, int(seed), float(kill_s)), range(int(first), int(end)))


if __name__ == "__main__":
    main(sys.argv[1:])
