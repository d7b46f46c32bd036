"""Processes that work for this one: started when first needed, replaced when one dies."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from base.frames import receive, send
from kb.html_markdown import bare_text
from kb.packing import ChunkedDocument
from kb.workers.wire import (
    Text,
    decode_documents,
    encode_job,
)

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


__all__ = ["WORKERS", "Text", "WorkerDiedError", "chunk_all", "processes", "restart", "to_markdown"]

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
