from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kb import grammars
from kb.workers import WorkerPool
from repomap import workers
from repomap.structure import describe_structure
from repomap.workers import FRAME_BYTES, decode_structure, encode_structure
from tests.repomap.test_structure import HOSTILE, SAMPLES

PROGRAM = b'"""Doc."""\nimport a\n\n\nclass B:\n    def f(self):\n        return a.x\n'


@pytest.fixture(autouse=True)
def own_workers():
    workers.restart()
    yield
    workers.restart()


@pytest.fixture
def changed_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return workers that are as they should be but for a change."""
    pools = []

    def make(change: str, reply_bytes: int = FRAME_BYTES) -> None:
        entry = tmp_path / "entry.py"
        entry.write_text(
            "import json, os, signal, socket, sys\n"
            "sys.path.extend(json.loads(sys.argv[1]))\n"
            "from kb import grammars\n"
            "from kb import workers\n"
            "from repomap import workers as wire\n"
            f"{change}\n"
            "with socket.socket(fileno=0) as connection:\n"
            "    workers.serve(connection, wire.do_order)\n"
        )
        pools.append(WorkerPool(entry, 1, reply_bytes))
        monkeypatch.setattr(workers, "_pool", pools[-1])

    yield make
    for pool in pools:
        pool.close()


def test_a_worker_describes_as_this_process_would():
    for language, text, *_ in SAMPLES:
        data = text.encode()
        assert workers.describe(data, language) == describe_structure(data, language)
    assert workers.processes()


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_a_sound_worker_tells_of_any_text_is_taken(data):
    for language in sorted(grammars.QUERIES):
        found = describe_structure(data, language)
        assert decode_structure(encode_structure(found), data) == found


def test_many_threads_share_the_workers():
    files = [b"def function%d():\n    return 1\n" % n * 30 for n in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda data: workers.describe(data, "python"), files))
    assert [one.symbols[0].name for one in found] == [f"function{n}" for n in range(40)]
    assert 1 <= len(workers.processes()) <= workers.WORKERS


@pytest.mark.parametrize(
    ("data", "language"), [(b"# Title\n", "markdown"), (b"", "python"), (b"text\n", None)]
)
def test_what_no_parser_reads_needs_no_worker(data, language):
    assert workers.describe(data, language) == describe_structure(data, language)
    assert workers.processes() == []


def test_a_killed_worker_is_replaced():
    workers.describe(PROGRAM, "python")
    (process,) = workers.processes()
    os.kill(process, signal.SIGKILL)
    found = [workers.describe(PROGRAM, "python") for _ in range(2)]
    assert found[-1] == describe_structure(PROGRAM, "python")


DIES_OF_BAD = (
    "sound = wire.do_order\n"
    "def answer(header, data):\n"
    "    if b'bad' in data: os.kill(os.getpid(), signal.SIGSEGV)\n"
    "    return sound(header, data)\n"
    "wire.do_order = answer"
)


def test_a_worker_that_dies_costs_one_file(changed_workers):
    changed_workers(DIES_OF_BAD)
    before, bad, after = (
        workers.describe(data, "python") for data in (PROGRAM, b"# Counts.\nbad = 1\n", PROGRAM)
    )
    assert before == after == describe_structure(PROGRAM, "python")
    assert bad.note == "its parser ended: its process died (Segmentation fault)"
    assert (bad.purpose, bad.symbols) == ("Counts.", ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("wire.do_order = lambda *_: os._exit(3)", "its parser ended: its process died (exit 3)"),
        ("wire.do_order = lambda *_: b'no json'", "its parser's answer is invalid"),
        ("wire.do_order = lambda *_: b'[' * 100000", "its parser's answer is invalid"),
        ("wire.do_order = lambda *_: b'x' * 2000", "its parser ended"),
        ("workers.BASE_S = 0.3\ndef answer(*_):\n    while True: pass\nwire.do_order = answer",
         "its parser ended: it did not end and was killed"),
    ],
)  # fmt: skip
def test_what_a_worker_fails_at_has_a_note(changed_workers, change, why):
    changed_workers(change, reply_bytes=1000 if "2000" in change else FRAME_BYTES)
    found = workers.describe(PROGRAM, "python")
    assert found.note.startswith(why)
    assert found.purpose == "Doc."


@pytest.mark.parametrize(
    "frame",
    [
        b"no json",
        b"\xff",
        b"[]",
        b"{}",
        b'"abcdef"',
        b"[" * 100_000,
        b'[{}, [], [], "", "", ""]',
        b'[[], [], [], 1, "", ""]',
        b'[[], [], [], "a\\nb", "", ""]',
        b'[[], [], [], "\\ud800", "", ""]',
        b'[[], [], [], "' + b"x" * 161 + b'", "", ""]',
        b'[[], [], [], "", "' + b"x" * 13_000 + b'", ""]',
        b'[[["f", "function", "", 1, 99, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", 0, 1, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", 2, 1, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", true, 1, "f"]], [], [], "", "", ""]',
        b'[[["f", "unheard of", "", 1, 1, "f"]], [], [], "", "", ""]',
        b'[[["f", "function", "", 1, 1]], [], [], "", "", ""]',
        b"[[" + b",".join([b'["f", "type", "", 1, 1, ""]'] * 2001) + b'], [], [], "", "", ""]',
        b'[[], [["x", "many"]], [], "", "", ""]',
        b'[[], [["x", -1]], [], "", "", ""]',
        b'[[], [["x", 1e3]], [], "", "", ""]',
        b'[[], [["x", 99999999999999999999]], [], "", "", ""]',
        b'[[], [], [["m", [1], ""]], "", "", ""]',
        b'[[], [], [["m", [], "unheard of"]], "", "", ""]',
    ],
    ids=range(25),
)
def test_an_answer_that_no_sound_worker_gives_is_refused(frame):
    with pytest.raises(ValueError, match=r"\S"):
        decode_structure(frame, PROGRAM)
