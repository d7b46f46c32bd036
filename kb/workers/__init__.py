"""Chunking in separate processes: a parser that hangs or dies loses no source.

Processes start when first needed, and are replaced when one dies. The kernel limits a parser's
time: a timer of processor time whose signal ends the process at any point. So not even a scanner
in an endless loop survives the program that started it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from base.frames import receive, send
from kb.detect import Detected
from kb.html_markdown import bare_text
from kb.packing import Chunk, ChunkedDocument, text_and_raw

WORKERS = 2

REPLY_S = 600.0
"""The time a worker may stay silent. It limits its own processor time; this ends one that was
stopped from outside."""

_END_S = 10.0
_PASSED = ("LD_LIBRARY_PATH", "TMPDIR")
"""Environment variables that the interpreter may need; the user's secrets are not passed."""

_ROOT = Path(__file__).parents[2]


class WorkerDiedError(Exception):
    """The worker that parsed a source died of it, or was ended, or none could start."""


class _Worker:
    """One process and the connection to it."""

    def __init__(self, entry: Path) -> None:
        """Start it by its entry, a file of Python.

        Raises:
            OSError: a process or socket could not be created.
        """
        paths = [str(_ROOT), *(path for path in sys.path if os.path.isabs(path))]
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.process: subprocess.Popen[bytes] = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(entry), json.dumps(paths)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        ours.settimeout(REPLY_S)
        self.connection = ours

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> int:
        """Kill it, unless it has ended itself; return its exit status as subprocess reports it."""
        self.connection.close()
        try:
            # A worker that ended by itself has an exit status; one that still runs is killed.
            return self.process.wait(0.05)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(_END_S)


class WorkerPool:
    """A limited number of processes of one entry, each used by one thread at a time."""

    def __init__(self, entry: Path, workers: int = WORKERS, reply_bytes: int | None = None) -> None:
        """Start none yet; later ones end with this process. A worker whose answer is longer than
        `reply_bytes` is ended."""
        self._entry = entry
        self._workers = workers
        self._reply_bytes = reply_bytes
        self._begin()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self.forget)

    def _begin(self) -> None:
        self._places = threading.BoundedSemaphore(self._workers)
        self._idle: list[_Worker] = []

    def exchange(self, order: bytes, data: bytes) -> bytes:
        """Return the answer to one order, from a new worker if the idle one has ended.

        Raises:
            WorkerDiedError: the worker died of it, or none could be started.
        """
        with self._places:
            worker = self._take()
            try:
                send(worker.connection, order, data)
                reply = receive(worker.connection, self._reply_bytes)
            except (EOFError, OSError) as error:
                raise WorkerDiedError(_cause(worker.end(), error)) from error
            except BaseException:
                worker.end()
                raise
            self._idle.append(worker)
            return reply

    def _take(self) -> _Worker:
        while (worker := self._pop_idle()) is not None:
            if worker.alive:
                return worker
            worker.end()
        try:
            return _Worker(self._entry)
        except OSError as error:
            raise WorkerDiedError(f"cannot start a worker: {error.strerror}") from error

    def _pop_idle(self) -> _Worker | None:
        try:
            return self._idle.pop()
        except IndexError:  # another thread may have taken the last
            return None

    def close(self) -> None:
        """End the workers that wait for work; the next work starts new ones."""
        while (worker := self._pop_idle()) is not None:
            worker.end()

    def forget(self) -> None:
        """Forget the workers: after a fork they belong to the parent process."""
        for worker in self._idle:
            worker.connection.close()
            worker.process.returncode = 0  # not ours to wait for
        self._begin()

    def processes(self) -> list[int]:
        """Return the ids of the workers that wait for work."""
        return [worker.process.pid for worker in self._idle]


def _cause(status: int, error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it sent nothing for {REPLY_S:.0f} s and was ended"
    if status == -signal.SIGPROF:
        return "it did not end and was killed"
    return f"its process died ({signal.strsignal(-status) if status < 0 else f'exit {status}'})"


IDLE_S = 300.0
BASE_S = 5.0
S_PER_BYTE = 5e-6
"""Processor time for one source, some 20 times what real ones take."""

MEMORY_BYTES = 2 * 1024**3
"""A syntax tree takes some fifty times its source, which is bounded: 100 MB."""

GARBAGE_THRESHOLD = 100_000
"""Objects between two searches for garbage that refers to itself. A source makes many objects and
next to no such garbage, and looking through them takes a fifth of the time."""


def serve(connection: socket.socket, answer: Callable[[bytes, bytes], bytes]) -> None:
    """Answer until the other side closes or sends nothing for IDLE_S."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection.settimeout(IDLE_S)
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    while True:
        try:
            header, data = receive(connection), receive(connection)
        except (EOFError, OSError):
            return
        signal.setitimer(signal.ITIMER_PROF, cpu_limit_s(len(data)))
        reply = answer(header, data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(connection, reply)


def cpu_limit_s(size: int) -> float:
    """Return the processor time that work on `size` bytes may take."""
    return BASE_S + S_PER_BYTE * size


# Messages are JSON and bytes. A worker never sends text: it sends where chunks begin and end, and
# the text is cut here from the bytes that were sent. JSON, because parsed input may have taken over
# a worker.


class Text(NamedTuple):
    """A text to chunk: its description, and where in its source it begins."""

    data: bytes
    detected: Detected
    base_byte: int = 0
    base_line: int = 1


Job = Sequence[Text] | str | None
"""Texts to be chunked together, whose bytes are sent separately, one after the other; or the base
URL, if any, of HTML that is to become Markdown."""


def encode_job(job: Job) -> bytes:
    if job is None or isinstance(job, str):
        return json.dumps(job).encode()
    rows = [
        (detected.kind, detected.language, len(data), base_byte, base_line)
        for data, detected, base_byte, base_line in job
    ]
    return json.dumps(rows).encode()


def decode_job(frame: bytes, data: bytes) -> list[Text] | str | None:
    """Decode the job of a frame, its texts with their bytes, which are `data`."""
    order: list[Any] | str | None = json.loads(frame)
    if order is None or isinstance(order, str):
        return order
    texts, at = list[Text](), 0
    for kind, language, size, base_byte, base_line in order:
        detected = Detected(kind, language, "said")
        texts.append(Text(data[at : at + size], detected, base_byte, base_line))
        at += size
    return texts


def encode_documents(documents: Sequence[ChunkedDocument], vocabulary: Iterable[str]) -> bytes:
    """Encode the documents with their search words, without their text."""
    rows = [([_row(chunk) for chunk in document.chunks], document.notes) for document in documents]
    return json.dumps({"documents": rows, "vocabulary": list(vocabulary)}).encode()


def _row(chunk: Chunk) -> tuple[object, ...]:
    return (
        chunk.title,
        chunk.language,
        chunk.end_byte - chunk.start_byte,
        chunk.start_line,
        chunk.end_line,
        chunk.identifiers,
        chunk.search_terms,
    )


def decode_documents(frame: bytes, texts: Sequence[Text]) -> list[ChunkedDocument]:
    """Decode the documents that `frame` describes for `texts`. The first has the vocabulary of all.

    Raises:
        ValueError: the frame does not tile them, which no intact worker sends.
    """
    reply: dict[str, Any] = json.loads(frame)
    vocabulary = frozenset(map(str, reply["vocabulary"]))
    documents = []
    for text, (rows, notes) in zip(texts, reply["documents"], strict=True):
        documents.append(
            ChunkedDocument(
                text.detected.kind,
                text.detected.language,
                tuple(_chunks(rows, text)),
                tuple(map(str, notes)),
                vocabulary=vocabulary,
            )
        )
        vocabulary = frozenset()
    return documents


def _chunks(rows: Sequence[Sequence[Any]], text: Text) -> Iterator[Chunk]:
    position = 0
    for row in rows:
        yield _chunk(row, text.data, position, text.detected.kind, text.base_byte)
        position += row[2]
    if position != len(text.data):
        raise ValueError(f"the chunks cover {position} of {len(text.data)} bytes")


def _chunk(row: Sequence[Any], data: bytes, start: int, kind: str, base: int) -> Chunk:
    title, language, size, start_line, end_line, identifiers, search_terms = row
    if not 0 < size <= len(data) - start:
        raise ValueError(f"a chunk of {size} bytes at {start} of {len(data)}")
    text, raw = text_and_raw(data[start : start + size])
    return Chunk(
        title=tuple(title),
        text=text,
        kind=kind,
        language=language,
        start_byte=base + start,
        end_byte=base + start + size,
        start_line=start_line,
        end_line=end_line,
        identifiers=tuple(identifiers),
        raw=raw,
        search_terms=search_terms,
    )


_pool = WorkerPool(Path(__file__).with_name("__main__.py"))


def chunk_all(texts: Sequence[Text]) -> list[ChunkedDocument]:
    """Return texts chunked in a worker, with the words of every chunk, in one exchange. The first
    document has the vocabulary of all.

    Raises:
        WorkerDiedError: a worker cannot chunk one of them.
    """
    reply = _pool.exchange(encode_job(texts), b"".join(text.data for text in texts))
    try:
        return decode_documents(reply, texts)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise WorkerDiedError(f"its answer is invalid: {error}") from error


def to_markdown(html: str, *, base_url: str | None = None) -> str:
    """Return a page as `kb.html_markdown.to_markdown` does; its bare text if the worker dies."""
    order = encode_job(base_url)
    try:
        return _pool.exchange(order, html.encode("utf-8", "replace")).decode()
    except (WorkerDiedError, UnicodeDecodeError):
        return bare_text(html)


def processes() -> list[int]:
    """Return the ids of the workers that wait for work."""
    return _pool.processes()


def restart() -> None:
    """End the workers that wait for work; the next work starts new ones."""
    _pool.close()
