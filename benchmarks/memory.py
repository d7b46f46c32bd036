"""How quickly facts are written and recalled, and how well recall finds what answers a question.

    python -m benchmarks.memory [--facts N] [--json]
    python -m benchmarks.memory --locomo FILE [--json]

Without --locomo: milliseconds of `remember`, on the disk when it returns, and of `recall`, at so
many facts of made-up words, whose frequencies are as uneven as those of a language.

With it: LoCoMo, dialogues over months with questions and the turns that answer them. FILE is
`data/locomo10.json` of the repository github.com/dial481/locomo at commit 82e6cbc; it is no part of
this project. Each dialogue is a project, each turn a fact, written at the time of its session. Each
question but those without an answer (category 5) is recalled within 1,500 tokens. Shown is the mean
share of the turns that answer it among the first 10 facts, and among all that are shown; in how
many answers all such turns are shown, or any; the same of the first five dialogues and of the last
five. Both halves were seen when the ranking was chosen, so neither is held out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Row, argument_parser, show, summary
from memory.facts.ledger import Entry, add_fact, append
from memory.facts.model import MAIN, Author, Draft
from memory.facts.recalling import RecallRequest, recall
from memory.facts.store import FactStore
from memory.facts.writing import remember

FACTS, SAMPLES = 10_000, 300
SESSION_FACTS = 20
WORDS = 5_000
BUDGET = 1_500
UNANSWERABLE = 5
CHOSEN_BY = 5
"""By so many dialogues, the first, the ranking was chosen."""

_TURN = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said, when, and the name by which questions refer to it."""

    name: str
    session: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Of the turns that answer a question: the share among the first 10, and among all shown."""

    first_ten: float
    shown: float


class _Timer:
    """Times of calls, by the wall and of the processor; the latter tells of a busy machine, too."""

    def __init__(self) -> None:
        self._wall = list[float]()
        self._cpu = list[float]()
        self._began = (0.0, 0.0)

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self._wall.append(time.perf_counter() - self._began[0])
        self._cpu.append(time.process_time() - self._began[1])

    def report(self, report: Report, name: str) -> None:
        """Add both to a report."""
        report.add(Row(name, summary(self._wall)))
        report.add(Row(f"{name}, of the processor", summary(self._cpu)))


def time_calls(facts: int) -> Report:
    """Measure both calls at so many facts."""
    report = Report("memory")
    chance = random.Random(19)
    letters = "bcdfghklmnprstvz"
    words = ["".join(chance.choices(letters, k=chance.randrange(4, 9))) for _ in range(WORDS)]
    shares = list(itertools.accumulate(1 / (rank + 10) for rank in range(WORDS)))

    def write(number: int) -> Draft:
        count = chance.randrange(8, 40)
        return Draft(" ".join(chance.choices(words, cum_weights=shares, k=count)), key=f"k{number}")

    with (
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder,
        FactStore(Path(folder, "m.sqlite3"), find_secrets=lambda _: ()) as store,
    ):
        with store.database.writing() as db:
            for number in range(facts):
                draft = write(number)
                path = f"/memory/general/{draft.key}"
                row = add_fact(db, "", draft.text, ())
                author = Author("bench", f"s{number // SESSION_FACTS}")
                append(db, Entry(MAIN, path, row, "add", store.clock(), author, "project"))
        timer = _Timer()
        for number in range(facts, facts + SAMPLES):
            draft = write(number)
            with timer:
                remember(store, draft, Author("bench", f"s{number // SESSION_FACTS}"))
        timer.report(report, f"remember at {facts:,} facts")
        timer = _Timer()
        for _ in range(SAMPLES):
            query = " ".join(chance.choices(words, cum_weights=shares, k=chance.randrange(2, 7)))
            with timer:
                recall([store], RecallRequest(query))
        timer.report(report, f"recall at {facts:,} facts")
    return report


def measure_locomo(file: Path) -> Report:
    """Measure how much of what answers a question is shown."""
    report = Report("memory --locomo")
    answers = [list(_answer_all(one)) for one in json.loads(file.read_text())]
    groups = {
        "all": answers,
        "first five": answers[:CHOSEN_BY],
        "last five": answers[CHOSEN_BY:],
    }
    for name, group in groups.items():
        found = list(itertools.chain.from_iterable(group))
        if not found:
            continue
        figures = {
            "questions": float(len(found)),
            "evidence in the first 10, %": 100 * statistics.mean(a.first_ten for a in found),
            "evidence shown, %": 100 * statistics.mean(a.shown for a in found),
            "all evidence shown, %": 100 * statistics.mean(a.shown == 1 for a in found),
            "any evidence shown, %": 100 * statistics.mean(a.shown > 0 for a in found),
        }
        report.figures.update((f"{name}: {what}", value) for what, value in figures.items())
    return report


def _answer_all(dialogue: dict[str, Any]) -> Iterator[Answer]:
    turns = list(_read_turns(dialogue["conversation"]))
    known = {turn.name for turn in turns}
    now = [turns[0].at]
    with (
        tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder,
        FactStore(
            Path(folder, "m.sqlite3"), find_secrets=lambda _: (), clock=lambda: now[0]
        ) as store,
    ):
        names = dict[str, str]()
        for turn in turns:
            now[0] = turn.at
            written = remember(store, Draft(turn.text), Author("locomo", turn.session))
            # The same words said twice in one folder are one fact.
            names[turn.name] = written.id
        for question in dialogue["qa"]:
            evidence = {
                names[name] for name in _read_names(question.get("evidence", ())) if name in known
            }
            if evidence and question["category"] != UNANSWERABLE:
                yield _answer(store, question["question"], evidence)


def _answer(store: FactStore, question: str, evidence: set[str]) -> Answer:
    found = recall([store], RecallRequest(question, budget=BUDGET))
    shown = [one.fact.id for one in found.facts]
    return Answer(
        len(evidence & set(shown[:10])) / len(evidence),
        len(evidence & set(shown)) / len(evidence),
    )


def _read_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for number in itertools.count(1):
        if f"session_{number}_date_time" not in conversation:
            return
        date = conversation[f"session_{number}_date_time"]
        at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        for place, said in enumerate(conversation.get(f"session_{number}", ())):
            picture = f" [image: {said['blip_caption']}]" if said.get("blip_caption") else ""
            text = f"{said['speaker']}: {said['text']}{picture}"
            yield Turn(said["dia_id"], f"session-{number}", at + place, text)


def _read_names(evidence: list[str]) -> Iterator[str]:
    """Yield names of turns, of which some stand several in one text, or with a zero before."""
    for text in evidence:
        for session, turn in _TURN.findall(text):
            yield f"D{int(session)}:{int(turn)}"


def main() -> int:
    parser: argparse.ArgumentParser = argument_parser(__name__, __doc__)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--locomo", type=Path, metavar="FILE")
    asked = parser.parse_args()
    report = measure_locomo(asked.locomo) if asked.locomo else time_calls(asked.facts)
    show(report, as_json=asked.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
