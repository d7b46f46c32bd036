"""The knowledge base: how fast it indexes and searches, how much room and memory it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice

import kb.directory
from benchmarks.harness import PROGRAMS, ROOT, Bench, NotMeasuredError, measure, write_files
from benchmarks.kb_quality import our_searcher, plain_searcher
from benchmarks.kb_sets import CORPORA, make_set, mixed_documents
from benchmarks.processes import PROGRAM, make_environment, read_processors_s, start
from kb import Store, workers
from kb.model import SourceSpec

FILES = 5_000


@measure(300, chunks="1000,10000", corpora=CORPORA)
async def growth(bench: Bench) -> None:
    """Measure rates, searches and sizes of a store that grows, beside plain BM25."""
    corpora = bench.path("corpora")
    queries = [target.query for target in make_set("pycode", corpora)[1]][: bench.rounds]
    steps = [int(step) for step in bench.options["chunks"].split(",")]
    with Store.open(bench.folder / "kb.db") as store:
        size = chunks = text = since = 0
        spent_s = 0.0
        for label, data in _repeat(list(islice(mixed_documents(corpora), max(steps) // 4))):
            began = read_processors_s(workers.processes())
            added = store.add(SourceSpec(label, name=label), data)
            spent_s += read_processors_s(workers.processes()) - began
            chunks, text = chunks + added.chunks, text + added.bytes_total
            size += len(data)
            if chunks < steps[0]:
                continue
            step = steps.pop(0)
            searches = [our_searcher(store), plain_searcher(store.path)]
            ours, plain = (partial(_search_next, iter(queries * 2), one) for one in searches)
            await bench.time_sides(
                f"a search of {step:,} chunks, of the processor", ours, "plain BM25", plain,
                rounds=len(queries), warm_up=min(20, len(queries)), clock=time.process_time,
            )  # fmt: skip
            store.checkpoint()
            rate = (size - since) / spent_s / 1e6
            bench.value(f"indexed a second of the processor, to {step:,} chunks", rate, "MB")
            share = 100 * store.stats()["file_bytes"] / text
            bench.value(f"the file in per cent of the text, {step:,} chunks", share, "%")
            since, spent_s = size, 0.0
            if not steps:
                return


def _search_next(queries: Iterator[str], search: Callable[[str], object]) -> None:
    search(next(queries))


def _repeat(documents: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield documents, then copies under other names for as long as any are wanted."""
    yield from documents
    for copy in count(1):
        for label, data in documents:
            yield f"{label} copy {copy}", data


@measure(3)
async def reindex(bench: Bench) -> None:
    """Measure indexing a folder again when nothing, or one file, has changed."""
    root = bench.make_folder("files")
    some = ((f"{n % 50}/{n}.md", f"# File {n}\n\n" + f"words of {n}\n" * 20) for n in range(FILES))
    write_files(root, some)
    number = count()

    def change() -> None:
        (root / "1/1.md").write_text(f"# Changed {next(number)}\n")

    with Store.open(bench.folder / "kb.db") as store:
        again = partial(kb.directory.index_selection, store, root, kb.Selection())
        alone = partial(kb.directory.index_file, store, root / "1/1.md", root)
        for name, side, how in (
            (f"{FILES:,} new files", again, {"rounds": 1, "warm_up": 0}),
            ("the same unchanged", again, {"warm_up": 0}),
            ("the same with one changed", again, {"before": change}),
            ("one changed file by itself", alone, {"before": change}),
        ):
            await bench.time_sides(
                f"{name}, of the processor", side, clock=time.process_time, **how
            )


@measure(1, folder=".")
def folder(bench: Bench) -> None:
    """Measure `context-mode index` of a folder, with its workers, in a process of its own."""
    place = ROOT if bench.options["folder"] == "." else bench.path("folder").resolve()
    if not place.is_dir():
        raise NotMeasuredError(f"no such folder: {place}")
    spent = []
    for number in range(bench.rounds):
        data = bench.make_folder(f"data-{number}")
        words = (*PROGRAM, "index", ".", "--project", str(place))
        environment = {**make_environment(data), "PYTHONPATH": str(ROOT)}
        spent.append(start(words, environment, place))
    (database,) = (path for path in data.glob("projects/*.sqlite3") if path.stem.count(".") == 0)
    with Store.open(database) as store:
        stats = store.stats()
        text = sum(source.bytes_total for source in store.sources())
    bench.times(f"index {text / 1e6:.1f} MB of text", [wall_s for wall_s, _ in spent])
    bench.times("the same, of processors", [cpu_s for _, cpu_s in spent])
    bench.value("chunks", stats["chunks"], "")
    bench.value("the file in per cent of the text", 100 * stats["file_bytes"] / text, "%")


@measure(1, is_long=True, log="2000", json="500")
def large(bench: Bench) -> None:
    """Measure memory and rates of indexing what is larger than memory should bear."""
    for kind in filter(bench.wants, ("log", "json")):
        spool = bench.folder / kind
        code = make_printing(kind, int(bench.options[kind]) * 1_000_000)
        with spool.open("wb") as stream:
            subprocess.run((sys.executable, "-c", code), stdout=stream, check=True)
        size = spool.stat().st_size
        words = (
            sys.executable,
            "-c",
            PROGRAMS["index"],
            str(spool),
            kind,
            str(bench.folder / "told"),
        )
        began = time.perf_counter()
        _, cpu_s = start(words, {**os.environ, "PYTHONPATH": str(ROOT)})
        whole_s = time.perf_counter() - began
        first_s, peak_mb = map(float, (bench.folder / "told").read_text().split())
        title = f"{bench.options[kind]} MB of {kind}"
        bench.value(f"{title}: searchable after", first_s, "s")
        bench.value(f"{title}: whole after", whole_s, "s")
        bench.value(f"{title}: a second of the processor", size / 1e6 / cpu_s, "MB")
        bench.value(f"{title}: peak of memory", peak_mb, "MB")


def make_printing(kind: str, size: int) -> str:
    """Return Python that prints `size` bytes, or a little more, of `log`, `json` or `line`."""
    return PROGRAMS["print"].replace("KIND", kind).replace("SIZE", str(size))
