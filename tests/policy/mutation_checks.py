"""Checks of many programs by the guard as it is shipped, each timed, in processes that may be lost.

Each is judged by `policy.judging.in_time`, so within its deadline. If that itself hangs or
crashes, the kernel ends the process; it is known at which program, and another goes on after it.
"""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import policy
import runtimes
from benchmarks.corpus import RULE_SETS, parse_rules
from policy.cases import read_cases
from policy.deadline import SECONDS
from policy.judging import in_time
from policy.model import TOO_LARGE, not_judged
from tests.base.ordinary_texts import TEXTS
from tests.policy.mutations import Program, Seeds, mutate

WALL_S = 30  # by the clock: the deadline has failed
MEMORY_BYTES = 3 << 30
CHUNK = 2_000  # programs of one child
FILES = {
    "s.sh": "rm -rf build\n",
    "clean.sh": "#!/bin/sh\nsudo id\n",
    "x.py": "import os\nos.system('sudo id')\n",
    "Makefile": "build:\n\trm -rf build\n",
    "package.json": '{"scripts": {"test": "sudo id"}}\n',
    ".env": "A=1\n",
}
_ENDED = "ended by "
LATE_S = SECONDS * 1.05  # a timer of the kernel's is not exact, and to end a process takes a while
KEPT_MAX = 10  # programs of one kind of failure
CASES = Path(__file__).with_name("cases")
FOLDERS = ("/usr/lib", "/usr/share", "/usr/include", "/usr/local", "/usr/src")
FILES_MAX = 150  # of a language
PIECE_CHARACTERS = (400, 1_500, 4_000)  # of a file, beginning at some line
TEXT_LINES = 12  # of an ordinary text, as one program


class Check(NamedTuple):
    """How one program was judged, in seconds of processor time: of the judging, or of all that its
    process did where that was ended at its deadline, and the program is too large.

    `failure` says what was raised and where, or how the guard itself ended; empty where neither
    was so. `trace` is all that was said about it.
    """

    number: int
    language: str
    seconds: float
    coverage: str
    decision: str
    is_too_large: bool = False
    failure: str = ""
    trace: str = ""

    @property
    def was_ended(self) -> bool:
        """Whether the program took the guard with it."""
        return self.failure.startswith(_ENDED)

    @property
    def kind(self) -> str:
        """What is wrong with how the program was judged; empty if nothing is."""
        if self.failure:
            return self.failure
        if self.seconds > LATE_S:
            return f"took over {LATE_S:.2f} s"
        return TOO_LARGE if self.is_too_large else ""


class Run(NamedTuple):
    """A folder with the seeds and a project, the seed of the chances, and the limit of a check."""

    folder: str
    seed: int
    wall_s: float


def table_seeds() -> dict[str, list[str]]:
    """Return the codes of the case tables, and ordinary texts as if a shell should run them."""
    found: dict[str, list[str]] = {}
    for table in sorted(CASES.glob("*.tsv")):
        for case in read_cases(table):
            found.setdefault(runtimes.language(case.language).name, []).append(case.code)
    for text in TEXTS.values():
        lines = text.splitlines()
        starts = range(0, len(lines), TEXT_LINES)
        found["shell"] += ["\n".join(lines[start : start + TEXT_LINES]) for start in starts]
    return found


def real_seeds(folders: Sequence[str] = FOLDERS, seed: int = 0) -> dict[str, list[str]]:
    """Return pieces of real programs of this machine, by language."""
    by_ending = {ending: row.name for row in runtimes.LANGUAGES for ending in row.extensions}
    paths: dict[str, list[Path]] = {}
    for folder in folders:
        for place, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                if known := by_ending.get(os.path.splitext(name)[1]):
                    paths.setdefault(known, []).append(Path(place, name))
    chance = random.Random(seed)
    return {
        name: [_piece(path, chance) for path in chance.sample(some, min(FILES_MAX, len(some)))]
        for name, some in sorted(paths.items())
    }


def _piece(path: Path, chance: random.Random) -> str:
    try:
        code = path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
    length = chance.choice(PIECE_CHARACTERS)
    start = code.rfind("\n", 0, chance.randint(0, max(0, len(code) - length))) + 1
    return code[start : start + length]


def join_seeds(tables: dict[str, list[str]], real: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return both kinds, about as many of each, so that neither is lost among the other."""
    both = {}
    for name, codes in tables.items():
        pieces = [code for code in real.get(name, ()) if code]
        both[name] = codes + pieces * (max(1, len(codes) // len(pieces)) if pieces else 0)
    return both


def keep(checks: Iterable[Check], seed: int, seeds: Seeds, folder: Path) -> int:
    """Write programs with which something is wrong into a folder; return how many failed."""
    counts: Counter[str] = Counter()
    for one in checks:
        if not one.kind:
            continue
        counts[one.kind] += 1
        if counts[one.kind] <= KEPT_MAX:
            folder.mkdir(parents=True, exist_ok=True)
            program = mutate(one.number, seed, seeds)
            path = folder / f"{seed}-{one.number}-{program.language}"
            path.write_bytes(program.code.encode("utf-8", "surrogatepass"))
            path.with_suffix(".txt").write_text(
                f"{one.kind}, {one.seconds:.2f} s\n{one.trace}", "utf-8", "backslashreplace"
            )
    return counts.total() - counts[TOO_LARGE]


def prepare(folder: Path, seeds: dict[str, list[str]], seed: int, *, wall_s: float = WALL_S) -> Run:
    """Write what the children need into an empty folder."""
    (folder / "seeds.json").write_text(json.dumps(seeds))
    project = folder / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text)
    return Run(str(folder), seed, wall_s)


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
            yield Check(first, "", run.wall_s, "", "", failure=_ENDED + reason, trace=trace)
            first += 1


def _run_child(run: Run, first: int, end: int) -> tuple[list[Check], str]:
    """The checks of one child, and how it died; empty where it did not."""
    arguments = [*map(str, run), str(first), str(end)]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [sys.executable, "-m", "tests.policy.mutation_checks", *arguments],
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


@functools.cache
def _rules() -> policy.Rules:
    return parse_rules(RULE_SETS["everyday"], "/w")


class Judged(NamedTuple):
    """A verdict that came in time, and the seconds of processor time that it took."""

    verdict: policy.Verdict
    seconds: float


def subject_of(number: int, program: Program, project: str) -> policy.Subject:
    """A program as it is run on the agent's shell or in the sandbox."""
    on_agent_shell = program.language == "shell" and number % 3 == 0
    return policy.Subject(
        program.language, program.code, project, project, str(Path.home()),
        surface="agent_shell" if on_agent_shell else "sandbox",
    )  # fmt: skip


def check(number: int, program: Program, project: str) -> Check:
    """Judge one program as `context-mode check` does."""
    began = _seconds_of_children()
    subject = subject_of(number, program, project)
    (found,) = in_time([subject], _rules(), _judge_timed, _describe, Judged)
    if isinstance(found, Judged):
        verdict, seconds, why = *found, ""
    else:
        verdict, seconds = found, _seconds_of_children() - began
        why = verdict.matches[0].reason if verdict.matches else "no rule"
    is_too_large, failure = why == TOO_LARGE, "" if why == TOO_LARGE else why
    if why and verdict.decision is not policy.Decision.DENY:
        failure = f"{verdict.decision.word} without being judged"
    return Check(
        number, program.language, seconds, verdict.coverage, verdict.decision.word,
        is_too_large, *failure.removeprefix(not_judged("")).partition(" < ")[::2],
    )  # fmt: skip


def _judge_timed(subject: policy.Subject) -> Judged:
    began = time.thread_time()  # the clock of the process is a coarse one while its timer runs
    verdict = policy.judge(subject, _rules())
    json.dumps(verdict.to_json()).encode()
    return Judged(verdict, time.thread_time() - began)


def _describe(error: Exception) -> str:
    """What was raised, and the guard's own lines that it came through, the last first."""
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    own = (f"{Path(f.filename).name}:{f.lineno}" for f in frames if "/policy/" in f.filename)
    return f"{type(error).__name__} at {' < '.join(own) or 'a line of others'}"


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def judge_programs(run: Run, numbers: Iterable[int]) -> None:
    """Judge programs one after the other; each that is done is a line of standard output."""
    seeds = json.loads(Path(run.folder, "seeds.json").read_text())
    project = str(Path(run.folder, "project"))
    for language in runtimes.LANGUAGES:  # what is loaded once is not part of a check
        _judge_timed(subject_of(0, Program(language.name, language.hello), project))
    for number in numbers:
        program = mutate(number, run.seed, seeds)
        signal.setitimer(signal.ITIMER_REAL, run.wall_s)
        done = check(number, program, project)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(done), flush=True)


def limit_child() -> None:
    """Bound memory, and say where the child was when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(
        signal.SIGALRM, chain=True
    )  # and then what it does by default: it ends us


def main(arguments: Sequence[str]) -> None:
    """Judge the programs of the numbers given, as a child of `run_checks`."""
    folder, seed, wall_s, first, end = arguments
    limit_child()
    judge_programs(Run(folder, int(seed), float(wall_s)), range(int(first), int(end)))


if __name__ == "__main__":
    main(sys.argv[1:])
