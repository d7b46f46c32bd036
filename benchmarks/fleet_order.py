"""Processor's time that a run's papers take at its front: order, seal, journal, outcome.

Looks at the project (`--snapshot`) and calls of the engine (`--latency`) come on top.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.report import Report, Row, Times, summary
from executor.model import Limits, Request, Result, Status, Stream
from executor.profile import ANALYZE
from fleet.journal import Accepted, Journal
from fleet.model import PROTOCOL, Order, Outcome
from fleet.packing import find_secret
from fleet.seal import Acceptance, ServedKey, open_order, seal_order
from fleet.tree import digest_of
from policy.rules import DEFAULT_RULES, Rules

CODE = "for number in range(10):\n    print(number)\n" * 45  # 2 kB
REQUEST = Request("python", CODE)
ROUNDS = 300


def measure(folder: Path, report: Report, _: str) -> None:
    """Add each step's time to a report, and the journal's three writes of a run."""
    key = Ed25519PrivateKey.generate()
    order = make_order()
    sealed = seal_order(order.encode(), key, PROTOCOL)
    outcome = make_outcome().encode()
    served = ServedKey("front", key.public_key().public_bytes_raw(), frozenset("*"))
    taken = Acceptance((served,), PROTOCOL, 0.0)
    steps: dict[str, Callable[[], object]] = {
        "front: search a request for secrets": partial(find_secret, REQUEST),
        "front: write and seal an order": lambda: seal_order(make_order().encode(), key, PROTOCOL),
        "front: read an outcome": partial(Outcome.decode, outcome, order.run_id),
        "worker: open and read an order": partial(open_order, sealed, taken, Order.decode),
    }
    for name, step in steps.items():
        report.add(Row(name, processor_time(step)))
    report.figures["order_bytes"] = len(sealed)
    report.figures["journal_ms_of_processor_a_run"] = 1e3 * trio.run(journal_s, folder, sealed)


def make_order() -> Order:
    """An order of a short program, with the rules that hold without any of one's own."""
    return Order(
        run_id="run-00000001",
        owner="owner",
        request=REQUEST,
        root=digest_of(b"root"),
        rules=Rules(DEFAULT_RULES),
        profile=ANALYZE,
        limits=Limits(),
        project="/home/me/project",
        not_after=2e9,
    )


def make_outcome() -> Outcome:
    """The outcome of a program that printed 4 kB."""
    text = "".join(f"{number}\n" for number in range(1_000))
    stream = Stream(head=text, bytes_total=len(text), lines_total=1_000)
    return Outcome("run-00000001", "worker", Result(Status.OK, exit_code=0, stdout=stream))


def processor_time(step: Callable[[], object]) -> Times:
    """How long a step keeps a processor, done again and again."""
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
    return summary(took)


async def journal_s(folder: Path, sealed: bytes) -> float:
    """Seconds of processor for a run's three writes, with 64 runs at once."""

    async def write(first: int) -> None:
        for number in range(first, ROUNDS * 10, 64):
            run = f"run-{number:08}"
            await journal.accept(Accepted(run, "owner", sealed, 2e9), 10**9)
            await journal.note_sent(run)
            await journal.finish(run, b"outcome")

    with closing(Journal(folder / "journal.sqlite3", "front")) as journal:
        began = time.process_time()
        async with trio.open_nursery() as nursery:
            for first in range(64):
                nursery.start_soon(write, first)
        return (time.process_time() - began) / (ROUNDS * 10)
