"""Pages: how long pushes take, and how long a large page is compared."""

from __future__ import annotations

import random
import time
from functools import partial
from itertools import count
from pathlib import Path

from base.secrets import find_secrets
from benchmarks.harness import Bench, measure
from benchmarks.memory import make_words
from memory.pages.model import PushRequest
from memory.pages.repository import Repository
from memory.pages.section_diff import compare_texts
from memory.pages.store import Pages

PAGES, SECTIONS = 10, 200
_TEXT = "## Decision\n\nRetries back off by {}.\n\n" + "## Why\n\nSo that nothing is lost.\n\n" * 20


def open_pages(folder: Path, project: str) -> Pages:
    """Open the pages of a project; all projects share one repository."""
    (folder / project).mkdir(exist_ok=True)
    repository = Repository(folder / "pages.git", environ={})
    opened = Pages(folder / project, repository, find_secrets=find_secrets, author="Ada")
    opened.init()
    return opened


@measure(15)
async def pushes(bench: Bench) -> None:
    """Measure pushes of ten edited drafts, each one commit with the index pages."""
    opened, numbers = open_pages(bench.folder, "project"), count()

    def edit() -> None:
        number = next(numbers)
        for page in range(PAGES):
            text = _TEXT.format(number)
            opened.write(f"page-{page}", text, "concept", {"tags": ["x"]})

    push = partial(opened.push, PushRequest())
    await bench.time_sides(f"push of {PAGES} pages", push, bar="≤ 60 ms", before=edit)


@measure(3)
async def diffs(bench: Bench) -> None:
    """Measure the comparison of a page of 1 MiB with itself, and with edited ones."""
    chance = random.Random(7)
    words = make_words(chance, 3000)
    bodies = [
        [" ".join(chance.choices(words, k=12)) for _ in range((1 << 20) // SECTIONS // 88)]
        for _ in range(SECTIONS)
    ]

    def edit(share: float, edited: range) -> str:
        parts = ["---\ntype: concept\n---\n"]
        for at, lines in enumerate(bodies):
            parts.append(f"## Section {at}\n\n")
            for number, line in enumerate(lines):
                is_edited = at in edited and (number == 5 or chance.random() < share)
                parts.append((line.replace(" ", " edited ", 1) if is_edited else line) + "\n")
        return "".join(parts)

    plain = edit(0, range(0))
    for name, text in {
        "itself": plain,
        "a tenth of the sections edited": edit(0, range(0, SECTIONS, 10)),
        "a line of each section edited": edit(0, range(SECTIONS)),
        "a fifth of all lines edited": edit(0.2, range(SECTIONS)),
        "all lines edited": edit(1, range(SECTIONS)),
        "all lines rewritten": plain.translate({ord("b"): "c", ord("d"): "f"}),
    }.items():
        side = partial(compare_texts, "page", plain, text)
        title = f"compare 1 MiB: {name}, of the processor"
        await bench.time_sides(title, side, bar="≤ 300 ms", clock=time.process_time)
