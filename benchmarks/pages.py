"""How long pushes of pages take, alone and many at once, and how long a large page is compared.

    python -m benchmarks.pages [--pages N] [--rounds N] [--json]

Each round of the first row edits so many drafts and pushes them: one commit with the index pages;
the bar is 60 ms for 10 pages. Then 8 processes, each with a folder of drafts of its own, push to
one repository at once: the history must be linear, and no page lost. The rest are times of the
processor: pages of 1 MiB in 200 sections are compared; the bar is 300 ms.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import Report, Row, argument_parser, show, summary
from memory.pages.answers import PushRequest, WriteRequest
from memory.pages.repository import Repository
from memory.pages.section_diff import compare_texts
from memory.pages.store import Pages
from policy.secrets import find_secrets

PUSHERS = 8
SECTIONS = 200
_TEXT = "## Decision\n\nRetries back off by {}.\n\n" + "## Why\n\nSo that nothing is lost.\n\n" * 20
_PUSHER = """
import sys
from pathlib import Path
from benchmarks.pages import push_alone
push_alone(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


def open_pages(folder: Path, project: str) -> Pages:
    """Open the pages of a project, all of whose projects share one repository."""
    (folder / project).mkdir(exist_ok=True)
    repository = Repository(folder / "pages.git", environ={})
    opened = Pages(folder / project, repository, find_secrets=find_secrets, author="Ada")
    opened.init()
    return opened


def measure_pushes(folder: Path, pages: int, rounds: int) -> list[float]:
    """Return the seconds of each push."""
    opened = open_pages(folder, "project")
    taken = []
    for number in range(rounds + 1):
        for page in range(pages):
            asked = WriteRequest(f"page-{page}", _TEXT.format(number), "concept", {"tags": ["x"]})
            opened.write(asked)
        started = time.perf_counter()
        pushed = opened.push(PushRequest())
        taken.append(time.perf_counter() - started)
        assert len(pushed.pages) == pages
    return taken[1:]


def push_alone(folder: Path, name: str, rounds: int) -> None:
    """Push a new page each round, and print the seconds of each push."""
    opened = open_pages(folder, name)
    taken = []
    for number in range(rounds):
        opened.write(WriteRequest(f"{name}-{number}", _TEXT.format(number), "concept"))
        started = time.perf_counter()
        pushed = opened.push(PushRequest((f"{name}-{number}",)))
        taken.append(time.perf_counter() - started)
        assert pushed.commit
    print(json.dumps(taken))


def measure_pushers(folder: Path, rounds: int) -> list[float]:
    """Return the seconds of each push of many processes at once.

    Raises:
        AssertionError: a page was lost, or the history is not linear.
    """
    pages = open_pages(folder, "reader")
    pushers = [
        subprocess.Popen(
            [sys.executable, "-c", _PUSHER, str(folder), f"p{number}", str(rounds)],
            stdout=subprocess.PIPE,
        )
        for number in range(PUSHERS)
    ]
    said = [one.communicate()[0] for one in pushers]
    expected = {f"p{one}-{number}" for one in range(PUSHERS) for number in range(rounds)}
    assert {row.slug for row in pages.list_pages()} == expected, "a page was lost"
    git = pages.repository.git
    assert git.run("rev-list", "--merges", "main") == b"", "the history is not linear"
    assert int(git.run("rev-list", "--count", "main")) == len(expected)
    return [one for line in said for one in json.loads(line)]


def measure_diffs(report: Report, rounds: int) -> None:
    """Compare a page of 1 MiB with itself, and with some or all of its sections edited."""
    chance = random.Random(7)
    words = ["".join(chance.choices("bcdfghklmnprstvz", k=1 + at % 9)) for at in range(3000)]
    bodies = []
    for _ in range(SECTIONS):
        lines = [" ".join(chance.choices(words, k=12)) for _ in range((1 << 20) // SECTIONS // 72)]
        bodies.append(lines)

    def edit(share: float, edited: range) -> str:
        parts = []
        for at, lines in enumerate(bodies):
            parts.append(f"## Section {at}\n\n")
            for number, line in enumerate(lines):
                is_edited = at in edited and (number == 5 or chance.random() < share)
                parts.append(line.replace(" ", " edited ", 1) if is_edited else line)
                parts.append("\n")
        return "---\ntype: concept\n---\n" + "".join(parts)

    plain = edit(0, range(0))
    rows = {
        "itself": plain,
        "a tenth of the sections edited": edit(0, range(0, SECTIONS, 10)),
        "a line of each section edited": edit(0, range(SECTIONS)),
        "a fifth of all lines edited": edit(0.2, range(SECTIONS)),
        "all lines edited": edit(1, range(SECTIONS)),
        "all lines rewritten": plain.translate({ord("b"): "c", ord("d"): "f"}),
    }
    for name, text in rows.items():
        taken = []
        for _ in range(rounds):
            started = time.process_time()
            compare_texts("page", plain, text)
            taken.append(time.process_time() - started)
        report.add(Row(f"compare 1 MiB: {name}, of the processor", summary(taken)))


def main() -> None:
    parser = argument_parser(__name__, __doc__)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    report = Report("pages")
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        taken = measure_pushes(Path(folder), asked.pages, asked.rounds)
    report.add(Row(f"push of {asked.pages} pages", summary(taken)))
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        taken = measure_pushers(Path(folder), max(asked.rounds // 3, 1))
    report.add(Row(f"push of a page, {PUSHERS} processes at once", summary(taken)))
    measure_diffs(report, max(asked.rounds // 3, 1))
    show(report, as_json=asked.json)


if __name__ == "__main__":
    main()
