"""Chunking in workers gives what chunking here gives, and outlives whatever befalls a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import kb.chunking
from kb import bulk, grammars, words, workers
from kb.chunkers import CHUNKERS
from kb.chunking import chunk_here, chunk_in_worker
from kb.detect import Detected
from kb.model import SourceSpec

ENTRY = Path(workers.__file__).with_name("__main__.py")
PROGRAM = b"# about f\ndef f(x):\n    return 1\n\n\nclass A:\n    def getValue(self):\n" + (
    b"        y = 1  # \xff\xfe \xc3\xbc\n" * 200
)
PYTHON = Detected("code", "python", "said")


@pytest.fixture
def fresh_workers(monkeypatch: pytest.MonkeyPatch):
    """Workers of this test's own, whatever it makes of them."""
    own = workers.WorkerPool(ENTRY)
    monkeypatch.setattr(workers, "_pool", own)
    yield own
    own.close()


def gone(process_id: int) -> bool:
    """Whether a process ended, at the latest after a minute."""
    status = Path(f"/proc/{process_id}/stat")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if status.read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def entry(folder: Path, change: str) -> Path:
    """A worker that is as it should be but for `change`."""
    program = folder / "entry.py"
    program.write_text(
        "import json, os, signal, socket, sys\n"
        "sys.path.extend(json.loads(sys.argv[1]))\n"
        "from kb import grammars\n"
        "from kb import chunking\n"
        "from kb import workers\n"
        f"{change}\n"
        "with socket.socket(fileno=0) as connection:\n"
        "    workers.serve(connection, chunking.do_order)\n"
    )
    return program


@pytest.mark.parametrize("kind", sorted(CHUNKERS))
def test_a_worker_gives_what_chunking_here_gives(kind: str) -> None:
    detected = Detected(kind, "python" if kind == "code" else None, "said")
    for data in (b"", PROGRAM, b'{"name": "x", "list": [1, 2]}\n# title\n\n| a |\n' * 300):
        here = chunk_here(data, detected, base_byte=7, base_line=3)
        there = chunk_in_worker(data, detected, base_byte=7, base_line=3)
        expected = words.with_search_terms(here)
        assert there == replace(expected, vocabulary=words.vocabulary_of(here))


def test_many_threads_share_the_workers(fresh_workers) -> None:
    sources = [b"def function%d():\n    return 1\n" % n * 30 for n in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda data: chunk_in_worker(data, PYTHON), sources))
    assert [document.chunks[0].title for document in found] == [
        (f"function{n}",) for n in range(40)
    ]
    assert 1 <= len(fresh_workers._idle) <= workers.WORKERS


def test_a_grammar_that_never_returns_is_killed_and_the_source_kept_as_text(
    fresh_workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = 'grammars.QUERIES["cobol"] = "(comment) @lead"\nworkers.BASE_S = 0.3'
    monkeypatch.setattr(fresh_workers, "_entry", entry(tmp_path, change))
    monkeypatch.setitem(grammars.QUERIES, "cobol", "(comment) @lead")
    data = b"x = 1\n" * 1000
    document = kb.chunking.chunk(data, kind="code", language="cobol")
    assert b"".join(chunk.text.encode() for chunk in document) == data
    assert document.notes == (
        "code: chunking cobol failed: it did not end and was killed; cut as text",
    )
    assert fresh_workers._idle == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "chunking.do_order = lambda *_: os.kill(os.getpid(), signal.SIGSEGV)",
            "Segmentation fault",
        ),
        ("chunking.do_order = lambda *_: os._exit(3)", "exit 3"),
        ('chunking.do_order = lambda *_: b\'{"chunks": [], "notes": []}\'', "is invalid"),
        ("chunking.do_order = lambda *_: b'no json'", "is invalid"),
    ],
)
def test_a_worker_that_fails_loses_no_source(
    fresh_workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, why: str
) -> None:
    monkeypatch.setattr(fresh_workers, "_entry", entry(tmp_path, change))
    with kb.Store.open(tmp_path / "kb.db") as store:
        added = store.add(SourceSpec("program.py", name="program.py"), PROGRAM)
        assert why in added.notes[0]
        assert added.complete
        assert store.text(added.source_id) == PROGRAM
        assert store.search("getValue")[0].hits


def test_a_worker_that_dies_of_one_of_many_sources_leaves_the_others_as_they_are(
    fresh_workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = (
        "right = chunking.do_order\n"
        "chunking.do_order = lambda *order: os._exit(3) if b'poison' in order[1] else right(*order)"
    )
    monkeypatch.setattr(fresh_workers, "_entry", entry(tmp_path, change))
    monkeypatch.setattr(bulk, "INLINE_BYTES", -1)
    with kb.Store.open(tmp_path / "kb.db") as store:
        with store.bulk() as addition:
            for n, word in enumerate(("fine", "poison", "good")):
                data = b"def %b():\n    return 1\n" % word.encode()
                addition.add(SourceSpec(f"{n}.py", origin="file", name=f"{n}.py"), data)
        notes = [added.notes for added in addition.indexed]
        assert [len(one) for one in notes] == [0, 1, 0]
        assert "exit 3" in notes[1][0]
        assert [store.search(word)[0].hits[0].title for word in ("fine", "good")] == [
            "fine", "good"
        ]  # fmt: skip
        assert store.search("poison")[0].hits


def test_without_any_worker_sources_are_cut_as_text(
    fresh_workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.sys, "executable", str(tmp_path / "nothing"))
    document = kb.chunking.chunk(PROGRAM, name="program.py")
    assert "cannot start a worker" in document.notes[0]
    assert document.chunks[-1].end_byte == len(PROGRAM)


def killed(worker: workers._Worker) -> None:
    os.kill(worker.process.pid, signal.SIGKILL)


def hung_up(worker: workers._Worker) -> None:
    """As one does that was idle for long."""
    worker.connection.shutdown(2)


@pytest.mark.parametrize("end", [killed, hung_up])
def test_a_worker_that_ended_while_idle_is_replaced(
    fresh_workers, end: Callable[[workers._Worker], None]
) -> None:
    chunk_in_worker(PROGRAM, PYTHON)
    (first,) = fresh_workers._idle
    end(first)
    assert gone(first.process.pid)
    assert chunk_in_worker(PROGRAM, PYTHON).notes == ()
    (second,) = fresh_workers._idle
    assert second.process.pid != first.process.pid


def test_workers_end_with_the_process_that_started_them() -> None:
    program = (
        "import kb.chunking, time\nfrom kb import workers\n"
        "kb.chunking.chunk(b'def f(): pass', name='a.py')\n"
        "print(workers._pool._idle[0].process.pid, flush=True)\ntime.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.kill()
    assert gone(worker)


def test_a_forked_process_has_workers_of_its_own() -> None:
    program = (
        "import kb.chunking, os\nfrom kb import workers\n"
        "kb.chunking.chunk(b'def f(): pass', name='a.py')\n"
        "first = workers._pool._idle[0].process.pid\n"
        "child = os.fork()\n"
        "document = kb.chunking.chunk(b'def f(): pass', name='a.py')\n"
        "same = workers._pool._idle[0].process.pid == first\n"
        "print('parent' if child else 'child', same, document.notes, flush=True)\n"
        "if child: os.waitpid(child, 0)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == ["child False ()", "parent True ()"]
