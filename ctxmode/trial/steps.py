"""The demo: every language answers about real input, then a large output is searched.

Each number is compared with one computed here, each passage with the bytes that the program must
have printed.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import trio
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxmode.app import App, open_app
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.library import Library
from ctxmode.operations.parallel_work import work_through
from ctxmode.operations.searching import SearchRequest
from ctxmode.render import terminal
from ctxmode.render.highlight import size
from ctxmode.render.terminal_output import waiting
from ctxmode.trial.corpus import (
    INPUT_NAME,
    QUESTIONS,
    WORD,
    Program,
    gather,
    load_programs,
)
from executor import Request, Status

RUN_S_MAX = 50.0
SIDE_BY_SIDE = 2
SEARCHES = 3
WORD_LENGTH_MIN = 9
STEM_LENGTH = 6
LISTING = "LC_ALL=C grep -an 'def ' corpus.txt"
"""The program with a large output: every definition in the input, with its line number."""

LARGE_BYTES_MIN = 20_000


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """One language's answer."""

    language: str
    question: str
    expected: int
    printed: str
    correct: bool  # False also without an answer
    status: str
    wall_s: float
    bytes_read: int
    bytes_returned: int
    tier: str


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of the demo."""

    tier: str
    input_bytes: int
    parts: Mapping[str, int]
    answers: tuple[TrialAnswer, ...]
    listed: Mapping[str, Any] | None  # the large output, and the searches in it
    missing: dict[str, str]
    problems: tuple[str, ...]  # failures; none if all works
    wall_s: float

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "problems": list(self.problems),
            "tier": self.tier,
            "wall_s": round(self.wall_s, 2),
            "input": {"bytes": self.input_bytes, "parts": dict(self.parts)},
            "answers": [asdict(answer) for answer in self.answers],
            "listed": self.listed,
            "missing": self.missing,
        }


async def run_trial(config: Config, report: Callable[[TrialAnswer], None]) -> Trial:
    """Run the demo in a separate project; `report` gets each answer as it arrives. Raise
    ContextModeError if there is too little input, or the project cannot be opened."""
    started = trio.current_time()
    corpus, parts = await trio.to_thread.run_sync(gather, config.project)
    async with _own_project(config, corpus) as app:
        with waiting("proving languages") as on_progress:
            diagnosis = await app.doctor(on_progress=on_progress)
        runnable = [p for p in load_programs() if diagnosis.languages[p[0]].runnable]
        answers = await _answer_all(app, corpus, runnable, report)
        listed = await _list_and_search(app, corpus)
    missing = {name: h.reason for name, h in diagnosis.languages.items() if not h.runnable}
    return Trial(
        tier=diagnosis.isolation.tier,
        input_bytes=len(corpus),
        parts=parts,
        answers=answers,
        listed=listed,
        missing=missing,
        problems=(
            *(f"critical: {name}" for name in diagnosis.critical),
            *_judge(answers, listed),
        ),
        wall_s=trio.current_time() - started,
    )


@asynccontextmanager
async def _own_project(config: Config, corpus: bytes) -> AsyncIterator[App]:
    """Open a project that contains only the input, with temporary storage."""
    with tempfile.TemporaryDirectory(prefix="context-mode-try-") as folder:
        own = await trio.to_thread.run_sync(_furnish, Path(folder), config, corpus)
        async with open_app(own) as app:
            yield app


def _furnish(folder: Path, config: Config, corpus: bytes) -> Config:
    folder = folder.resolve()
    project = folder / "project"
    project.mkdir()
    (project / INPUT_NAME).write_bytes(corpus)
    # The state stays: tests of languages are valid for the machine, not only for the demo.
    return replace(config, project=project, database_dir=folder / "data")


async def _answer_all(
    app: App,
    corpus: bytes,
    programs: list[Program],
    report: Callable[[TrialAnswer], None],
) -> tuple[TrialAnswer, ...]:
    expected = await trio.to_thread.run_sync(_work_out_answers, corpus, programs)

    async def answer(program: Program) -> TrialAnswer:
        answer = await _answer(app, corpus, program, expected[program[1]])
        report(answer)
        return answer

    return await work_through(programs, answer, SIDE_BY_SIDE)


def _work_out_answers(corpus: bytes, programs: list[Program]) -> dict[str, int]:
    return {name: QUESTIONS[name][1](corpus) for name in {name for _, name, _ in programs}}


async def _answer(app: App, corpus: bytes, program: Program, expected: int) -> TrialAnswer:
    language, question, code = program
    request = Request(language, code=code, timeout_s=RUN_S_MAX)
    try:
        result = (await app.execute(request)).result
    except ContextModeError as error:
        text = QUESTIONS[question][0]
        why = str(error)
        return TrialAnswer(language, text, expected, why, False, "not_run", 0.0, 0, 0, "none")
    printed = result.stdout.text.strip()
    return TrialAnswer(
        language=language,
        question=QUESTIONS[question][0],
        expected=expected,
        printed=printed or result.stderr.text.strip()[-300:] or result.message,
        correct=result.status is Status.OK and printed == str(expected),
        status=result.status.value,
        wall_s=round(result.usage.wall_s, 3),
        bytes_read=len(corpus),
        bytes_returned=result.stdout.bytes_total,
        tier=result.isolation.tier,
    )


async def _list_and_search(app: App, corpus: bytes) -> Mapping[str, Any] | None:
    """Print a large output and search for three of its lines by a word unique to each."""
    try:
        answer = await app.execute(Request("shell", code=LISTING, timeout_s=RUN_S_MAX))
    except ContextModeError:
        return None
    if answer.kept is None:
        return None
    printed = await trio.to_thread.run_sync(build_listing, corpus)
    (stream,) = answer.kept.streams.values()
    exact = await app.read(lambda library: library.store.text(stream.source_id)) == printed
    searches = []
    for word, line in find_rare_words(printed):
        request = SearchRequest((word,), limit=1, source=answer.kept.output_id)
        search = await app.read(partial(Library.search, request=request))
        searches.append(_check(search.queries[0].hits, word, line, printed, exact))
    shown = answer.result.stdout
    return {
        "bytes_total": shown.bytes_total,
        "bytes_returned": shown.bytes_total - shown.bytes_omitted,
        "bytes_indexed": answer.kept.bytes_indexed,
        "output_id": answer.kept.output_id,
        "searches": searches,
    }


def build_listing(content: bytes) -> bytes:
    """Compute the exact output of the listing program."""
    lines = content.split(b"\n")[:-1]
    return b"".join(b"%d:%s\n" % (n, line) for n, line in enumerate(lines, 1) if b"def " in line)


def find_rare_words(printed: bytes) -> list[tuple[str, bytes]]:
    """Find unique words across the text, each with its line."""
    lowered = printed.lower()
    lines = printed.split(b"\n")[:-1]
    found: dict[str, bytes] = {}
    for number in range(1, SEARCHES + 1):
        for line in lines[number * len(lines) // (SEARCHES + 1) :]:
            plain = (word.decode() for word in WORD.findall(line) if _is_unique(word, lowered))
            fresh = next((word for word in plain if word not in found), None)
            if fresh:
                found[fresh] = line
                break
    return list(found.items())


def _is_unique(word: bytes, lowered: bytes) -> bool:
    """Return whether a word is plain and its stem unique, also inside identifiers."""
    plain = len(word) >= WORD_LENGTH_MIN and word.isalpha() and word.islower()
    return plain and lowered.count(word[:STEM_LENGTH]) == 1


def _check(
    hits: tuple[Any, ...], word: str, line: bytes, printed: bytes, exact: bool
) -> dict[str, Any]:
    """Check that the hit is the chunk of the line, with exactly the printed bytes."""
    found: dict[str, Any] = {
        "query": word,
        "expected_line": line.decode("utf-8", "replace").strip(),
        "source": "",
        "start_byte": 0,
        "end_byte": 0,
        "correct": False,
    }
    if not hits:
        return found
    hit = hits[0]
    passage = printed[hit.start_byte : hit.end_byte]
    correct = exact and line in passage and passage.decode("utf-8", "replace") == hit.text
    names = ("source", "start_byte", "end_byte")
    return found | {name: getattr(hit, name) for name in names} | {"correct": correct}


def _judge(answers: tuple[TrialAnswer, ...], listed: Mapping[str, Any] | None) -> list[str]:
    wrong = [
        f"{a.language}: {a.status}, printed {a.printed!r}, expected {a.expected}"
        for a in answers
        if not a.correct
    ]
    if listed is None or listed["bytes_total"] < LARGE_BYTES_MIN:
        return [*wrong, "the large output was not kept"]
    if len(listed["searches"]) < SEARCHES:
        wrong.append(f"only {len(listed['searches'])} searches could be made")
    return wrong + [
        f"search {s['query']!r}: wrong passage" for s in listed["searches"] if not s["correct"]
    ]


class TrialProgress:
    """A progress line with the languages that answered, on terminals only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def tell(self, answered: TrialAnswer) -> None:
        if self._stream.isatty():
            mark = "ok" if answered.correct else "WRONG"
            self._stream.write(f"{answered.language}: {mark} in {answered.wall_s:.2f} s\n")


def show(trial: Trial) -> None:
    """Print the results."""
    console = terminal.console()
    parts = ", ".join(f"{name} {size(count)}" for name, count in trial.parts.items())
    console.print(Text(f"Input: {size(trial.input_bytes)} of this machine: {parts}"))
    console.print(_answers(trial))
    if trial.missing:
        console.print(Text(f"Not here: {', '.join(trial.missing)} (context-mode doctor says why)"))
    if trial.listed is not None:
        _show_listed(console, trial.listed)
    console.print(Text(_summary(trial), style="green" if trial.ok else "red"))
    for problem in trial.problems:
        console.print(Text(f"  {problem}", style="red"))


def _answers(trial: Trial) -> Table:
    title = f"\nEach language read all of it, in sandbox tier {trial.tier}"
    columns = ("language", "question", "answer", "right", "time", "read", "returned")
    right = ("answer", "time", "read", "returned")
    table = terminal.build_table(*columns, right=right, title=title)
    for a in trial.answers:
        table.add_row(
            a.language,
            a.question,
            Text(a.printed[:60]),
            Text("yes", style="green") if a.correct else Text("no", style="red"),
            f"{a.wall_s:.2f} s",
            size(a.bytes_read),
            size(a.bytes_returned),
        )
    return table


def _show_listed(console: Console, listed: Mapping[str, Any]) -> None:
    console.print(
        Text(
            f"\nA large output of {size(listed['bytes_total'])}: "
            f"{size(listed['bytes_returned'])} came back, {size(listed['bytes_indexed'])} are "
            f"searchable as {listed['output_id']}"
        )
    )
    for found in listed["searches"]:
        where = f"bytes {found['start_byte']} to {found['end_byte']}"
        mark = "found" if found["correct"] else "WRONG"
        console.print(
            Text(f"  search {found['query']}: {mark} in {where}: {found['expected_line'][:60]}")
        )


def _summary(trial: Trial) -> str:
    right = sum(answer.correct for answer in trial.answers)
    read = size(sum(answer.bytes_read for answer in trial.answers))
    returned = size(sum(answer.bytes_returned for answer in trial.answers))
    return (
        f"\n{right} of {len(trial.answers)} languages right; {read} read, {returned} returned; "
        f"{trial.wall_s:.1f} s."
    )
