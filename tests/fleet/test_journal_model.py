"""Whatever is asked of a journal in whatever order, it knows what a plain table would."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.journal import Journal, JournalError, QueueFullError
from tests.fleet.journals import count

QUEUED_MAX = 3
STEPS = st.lists(
    st.tuples(st.sampled_from(("accept", "sent", "lost", "finish", "die")), st.integers(0, 7)),
    max_size=40,
)


def owner_of(run: str) -> str:
    return "even" if int(run) % 2 == 0 else "odd"


class Table:
    """What a journal should know: each run's state and losses."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}
        self.lost: dict[str, int] = {}

    def accept(self, run: str) -> bool | None:
        if run in self.state:
            return None
        waiting = [one for one, state in self.state.items() if state == "accepted"]
        if sum(owner_of(one) == owner_of(run) for one in waiting) >= QUEUED_MAX:
            return None
        self.state[run], self.lost[run] = "accepted", 0
        return True

    def sent(self, run: str) -> None:
        if self.state.get(run, "done") != "done":
            self.state[run] = "sent"

    def note_lost(self, run: str) -> int | None:
        if self.state.get(run, "done") == "done":
            return None
        self.state[run] = "accepted"
        self.lost[run] += 1
        return self.lost[run]

    def finish(self, run: str) -> bool:
        if self.state.get(run, "done") != "done":
            self.state[run] = "done"
            return True
        return False


async def ask(journal, step, run):
    """What the journal answers to one step; None for a refusal."""
    try:
        match step:
            case "accept":
                await journal.accept(run, owner_of(run), run.encode(), QUEUED_MAX)
                return True
            case "sent":
                return await journal.note_sent(run)
            case "lost":
                return await journal.note_lost(run)
    except (QueueFullError, JournalError):
        return None
    return await journal.finish(run)


async def compare(path: Path, steps: list[tuple[str, int]]) -> None:
    """Take the steps with both; a journal that dies is opened by the next front."""
    table, left = Table(), list(steps)
    front = 0
    while left or not front:
        front += 1
        with closing(Journal(path, f"front{front}")) as journal:
            adopted = await journal.adopt(lambda _: False)
            assert adopted == {
                run: state == "sent" for run, state in table.state.items() if state != "done"
            }
            while left:
                step, which = left.pop(0)
                if step == "die":
                    break
                run = str(which)
                expected = {
                    "accept": lambda run=run: table.accept(run),
                    "sent": lambda run=run: table.sent(run),
                    "lost": lambda run=run: table.note_lost(run),
                    "finish": lambda run=run: table.finish(run),
                }[step]()
                assert await ask(journal, step, run) == expected
            states = Counter((owner_of(run), state) for run, state in table.state.items())
            assert await count(journal) == states
            for run in map(str, range(8)):
                is_kept = table.state.get(run, "done") != "done"
                assert await journal.read_order(run) == (run.encode() if is_kept else None)


@given(STEPS)
@settings(max_examples=25)
def test_a_journal_knows_what_a_table_would(steps):
    with tempfile.TemporaryDirectory() as folder:
        trio.run(compare, Path(folder) / "journal.sqlite3", steps)
