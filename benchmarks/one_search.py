"""What a search pays to bring facts, pages and sessions into its index.

    python -m benchmarks.one_search [--rounds N] [--facts N] [--json]

All times are of the processor, the children's included. "Nothing is new" is looked at before each
search: the bar is 3 ms. Then so many facts that wait are indexed by one search that has the time,
and by as many as it takes where each has but its moment. At last the index is deleted: how long
all facts and pages take to come back.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.operations.facts import open_memory
from ctxmode.operations.library import open_store
from ctxmode.operations.mirroring import catch_up
from ctxmode.operations.pages import begin, open_pages
from ctxmode.operations.session_store import open_session_store
from memory.facts.model import Draft
from memory.pages.answers import PushRequest, WriteRequest
from memory.sessions.records import MessageRecord, SessionRecord

LONG_S = 600.0
PAGES = 20
_FACT = "Retry {} of the upload waits {} seconds, since the gateway drops what comes sooner."
_PAGE = "## Decision\n\nRetries of page {} back off.\n\n" + "## Why\n\nNothing is lost.\n\n" * 10


def prepare(folder: Path, facts: int) -> Config:
    """Make a project with facts, pages and an index that has none of them yet."""
    project = folder / "project"
    project.mkdir()
    config = Config(project, folder, folder / "data", config_home=folder / "config")
    prepare_storage(config)
    write_facts(config, 0, facts)
    with open_memory(config, to_write="user") as memory:
        memory.remember(Draft("Answer in short sentences.", scope="user"))
    with open_pages(config, author="Ada <ada@example.org>") as pages:
        begin(config, pages)
        for page in range(PAGES):
            pages.write(WriteRequest(f"page-{page}", _PAGE.format(page), "concept"))
        pages.push(PushRequest(no_distill=True))
    project_text, home = str(config.project), str(config.home)
    with open_session_store(config.sessions_file, project_text, home) as store:
        asked = MessageRecord("1", "1", "user", "Why does it retry?", 1.0, is_prompt=True)
        store.record("chatgpt", [SessionRecord("one", title="Retries"), asked], is_imported=True)
    return config


def write_facts(config: Config, first: int, count: int) -> None:
    """Remember so many facts more."""
    with open_memory(config, to_write="project") as memory:
        for at in range(first, first + count):
            memory.remember(Draft(_FACT.format(at, at % 97)))


def measure_cpu(config: Config, seconds: float = LONG_S) -> tuple[float, int]:
    """Return the seconds of the processor, and how many searches it took, each with a moment."""
    with open_store(config) as store:
        before, calls = _cpu_s(), 0
        notes: tuple[str, ...] = ("not yet",)
        while notes:
            notes, calls = catch_up(config, store, seconds=seconds), calls + 1
        return _cpu_s() - before, calls


def _cpu_s() -> float:
    return sum(os.times()[:4])


def main() -> int:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--facts", type=int, default=1000, help="that are there from the beginning")
    args = parser.parse_args()
    report = Report("one_search")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        config = prepare(Path(folder), args.facts)
        filled, _ = measure_cpu(config)
        report.add(Row(f"{args.facts} facts, {PAGES} pages into a new index", summary([filled])))
        report.add(Row("nothing is new", summary(measure_idle(config, args.rounds))))
        waiting, searches = [], []
        for at in range(5):
            write_facts(config, args.facts + 200 * at, 100)
            waiting.append(measure_cpu(config)[0])
            write_facts(config, args.facts + 200 * at + 100, 100)
            searches.append(measure_cpu(config, 0.3)[1])
        report.add(Row("100 facts wait", summary(waiting)))
        report.figures["searches until 100 facts are indexed, each within 0.3 s"] = max(searches)
    show(report, as_json=args.json)
    return 0


def measure_idle(config: Config, rounds: int) -> list[float]:
    """Return the seconds of the processor of each look that finds nothing new."""
    taken = []
    with open_store(config) as store:
        for _ in range(rounds + 1):
            before = time.process_time()
            notes = catch_up(config, store)
            taken.append(time.process_time() - before)
            assert not notes
    return taken[1:]


if __name__ == "__main__":
    raise SystemExit(main())
