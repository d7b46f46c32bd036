"""Facts: how fast they are written, recalled, and brought into the index of a search."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from functools import partial

from benchmarks.harness import Bench, measure
from ctxmode.config.locations import Config
from ctxmode.operations.facts import open_memory
from ctxmode.operations.mirroring import catch_up
from ctxmode.operations.stores import open_store
from memory.facts.ledger import add_fact, append
from memory.facts.model import MAIN, Author, Change, Draft
from memory.facts.recalling import RecallRequest, recall
from memory.facts.store import FactStore
from memory.facts.writing import remember
from tests.ctxmode.insight.made_project import Amounts, fill, make_place

_FACT = "Retry {} of the upload waits {} seconds, since the gateway drops what comes sooner."


def make_words(chance: random.Random, count: int) -> list[str]:
    """Make up words."""
    letters = "bcdfghklmnprstvz"
    return ["".join(chance.choices(letters, k=chance.randrange(4, 9))) for _ in range(count)]


@measure(200, facts="10000")
async def calls(bench: Bench) -> None:
    """Measure `remember`, on the disk when it returns, and `recall`, at so many facts.

    Words are made up, with frequencies as uneven as those of a language.
    """
    facts, chance, numbers = int(bench.options["facts"]), random.Random(19), itertools.count()
    words = make_words(chance, 5_000)
    shares = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(words))))

    def say(least: int, most: int) -> str:
        return " ".join(chance.choices(words, cum_weights=shares, k=chance.randrange(least, most)))

    with FactStore(bench.folder / "m.sqlite3", find_secrets=lambda _: ()) as store:
        with store.database.writing() as db:
            for number in itertools.islice(numbers, facts):
                row = add_fact(db, "", say(8, 40), ())
                by = ("bench", f"s{number // 20}")
                path = f"/memory/general/k{number}"
                append(db, Change(MAIN, path, row, "add", store.clock(), *by, "project"))

        def write() -> None:
            number = next(numbers)
            author = Author("bench", f"s{number // 20}")
            remember(store, Draft(say(8, 40), key=f"k{number}"), author)

        def read() -> None:
            recall([store], RecallRequest(say(2, 7)))

        for clock, what in ((time.perf_counter, ""), (time.process_time, ", of the processor")):
            await bench.time_sides(f"remember at {facts:,} facts{what}", write, clock=clock)
            await bench.time_sides(f"recall at {facts:,} facts{what}", read, clock=clock)


@measure(3, facts="1000")
async def mirrors(bench: Bench) -> None:
    """Measure what a search pays to bring facts, pages and sessions into its index."""
    facts = int(bench.options["facts"])
    config = make_place(bench.folder)
    fill(config, Amounts(days=1, sessions=4, runs=1, sources=1), now=time.time())
    numbers = itertools.count()
    _write_facts(config, numbers, facts)
    took = partial(_catch_up, config)
    title = f"{facts} facts, pages and sessions into a new index, of the processor"
    await bench.time_sides(title, took, rounds=1, warm_up=0)
    with open_store(config) as store:
        side, clock = partial(catch_up, config, store), time.process_time
        title = "nothing is new, of the processor"
        await bench.time_sides(title, side, bar="≤ 3 ms", rounds=200, clock=clock)
    write = partial(_write_facts, config, numbers)
    await bench.time_sides("100 facts wait, of the processor", took, before=write)


def _write_facts(config: Config, numbers: Iterator[int], count: int = 100) -> None:
    with open_memory(config, to_write="project") as memory:
        for at in itertools.islice(numbers, count):
            memory.remember(Draft(_FACT.format(at, at % 97)))


def _catch_up(config: Config) -> float:
    """Return the seconds of processors, the children's included, until nothing waits."""
    with open_store(config) as store:
        began = sum(os.times()[:4])
        while catch_up(config, store, seconds=600.0):
            pass
        return sum(os.times()[:4]) - began
