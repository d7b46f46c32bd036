"""Output to the terminal: without commands, within a budget, and live.

Sequences can set the clipboard and the window's title, or make the terminal type an answer as if
the user had. Programs run without a terminal, so honest ones print at most colours. A CI runner
executes some lines of a log as commands: they set variables, hide text or mark a job as failed.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from ctxmode.errors import UsageError

if TYPE_CHECKING:
    import trio
    from typing_extensions import Buffer


# All control characters except line feed, tab, carriage return and backspace, which progress bars
# use; all escape sequences except Select Graphic Rendition (ECMA-48, 8.3.117).
_OBEYED = re.compile(r"\x1b(?!\[[0-9;:]*m)|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
# Also removed from texts for review: colours can hide a line, carriage returns overwrite one, and
# format characters (Unicode's Cf) reverse its order or are invisible.
_MISLEADING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;:]{0,64})?\Z")

# Variables of runners. The program's image sets CI, since a container does not get the others.
RUNNER_VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
# Characters that a runner ignores before a command.
_BLANK = (
    r"[\x00-\x09\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060"
    r"\u3000\ufeff]*"
)
_COMMAND = re.compile(
    r"##(?=(?:vso|teamcity)?\[)"  # Azure Pipelines, TeamCity, older GitHub: anywhere in a line
    r"|section_(?:start|end)(?=:[0-9])"  # GitLab
    rf"|(?:\A|(?<=[\n\r])){_BLANK}:(?=:[a-z])",  # GitHub: where a line begins
    re.IGNORECASE,
)
_LINE_BEGUN = re.compile(rf"(?:\A|[\n\r]){_BLANK}\Z")
_SIGNS = ("##[", "##vso[", "##teamcity[", "section_start:0", "section_end:0", "::a")
_SIGN_CHARS_MAX = max(map(len, _SIGNS))


class OutputScreen:
    """Filter of one stream in arbitrary chunks: for a terminal, a runner's log or both."""

    def __init__(self, *, is_terminal: bool = True, is_log: bool = False) -> None:
        # A log may be a pipe to another program, with bytes that are not text.
        self._errors = "replace" if is_terminal else "surrogateescape"
        self._decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        self._is_terminal = is_terminal
        self._is_log = is_log
        self._held = ""
        self._before = ""  # the line so far; empty if a command may still begin

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Return the text that can be shown already; the `final` call returns the rest."""
        text = self._held + self._decoder.decode(chunk, final)
        end = len(text) if final else self._find_begun(text)
        self._held, text = text[end:], text[:end]
        if self._is_log:
            text = self._disarm(text)
        return (screen(text) if self._is_terminal else text).encode("utf-8", self._errors)

    def _find_begun(self, text: str) -> int:
        """Return the start of an incomplete sequence or command at the end of `text`."""
        begun = _BEGUN.search(text) if self._is_terminal else None
        end = begun.start() if begun else len(text)
        if self._is_log:
            tail = text[max(end - _SIGN_CHARS_MAX, 0) : end].lower()
            for size in range(len(tail), 0, -1):
                if any(len(sign) > size and sign.startswith(tail[-size:]) for sign in _SIGNS):
                    # The held letter may turn the colons before it into a command.
                    before = tail[-size - 2 : -size]
                    return end - size - len(before) + len(before.rstrip(":"))
        return end

    def _disarm(self, text: str) -> str:
        whole = self._before + text
        shown = disarm(whole)[len(self._before) :]
        self._before = "" if _LINE_BEGUN.search(whole) else "x"
        return shown


def is_runner() -> bool:
    """Return whether a CI runner has started this process."""
    values = (os.environ.get(name, "") for name in RUNNER_VARIABLES)
    return any(value.lower() not in ("", "0", "false") for value in values)


def is_runner_log(stream: IO[Any]) -> bool:
    """Return whether a CI runner may read a stream, that is, it is not redirected into a file."""
    try:
        return is_runner() and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return is_runner()


def disarm(text: str) -> str:
    """Insert a space into commands for a CI runner; leave all other text unchanged."""
    return _COMMAND.sub(r"\g<0> ", text)


def screen(text: str) -> str:
    """Replace control sequences of terminals by visible text."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def for_review(text: str) -> str:
    """Prepare a text that the user reviews on a terminal: no part hides or overwrites another."""
    return _MISLEADING.sub(_spell, text) if sys.stdout.isatty() else text


def _spell(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def for_stdout(text: str) -> str:
    """Screen `text` if standard output is a terminal or a runner's log."""
    if is_runner_log(sys.stdout):
        return screen(disarm(text))
    return screen(text) if sys.stdout.isatty() else text


HEAD_SHARE = 2 / 3
LEAST_BYTES = 200
"""Minimum budget: room for an answer and the line that reports the gap."""

_LINE_BYTES = 100
"""Maximum size of that line."""


class BoundedBytes(io.BufferedIOBase):
    """Stream that keeps the first and last bytes within a budget."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._head_bytes = int((budget - _LINE_BYTES) * HEAD_SHARE)
        self._tail_bytes = budget - _LINE_BYTES - self._head_bytes
        self._head = bytearray()
        self._parts: deque[bytes] = deque()
        self._held = 0
        self.total = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        part = bytes(data)
        self.total += len(part)
        room = self._budget - len(self._head)
        self._head += part[:room]
        if rest := part[room:]:
            self._parts.append(rest)
            self._held += len(rest)
        while self._parts and self._held - len(self._parts[0]) >= self._tail_bytes:
            self._held -= len(self._parts.popleft())
        return len(part)

    def build(self) -> bytes:
        """Return everything if it fits, else both ends, cut at line ends if possible."""
        if self.total <= self._budget:
            return bytes(self._head)
        head = self._head[: self._head_bytes]
        head = head[: head.rfind(b"\n") + 1] or head
        tail = (bytes(self._head) + b"".join(self._parts))[-self._tail_bytes :]
        tail = tail[tail.find(b"\n") + 1 :] or tail
        # A character that was cut is removed.
        ends = [end.decode("utf-8", "ignore").encode() for end in (head, tail)]
        left_out = self.total - sum(map(len, ends))
        note = f"[{left_out:,} bytes left out: --budget is {self._budget:,}]\n".encode()
        gap = b"" if ends[0].endswith(b"\n") else b"\n"
        return ends[0] + gap + note + ends[1]


@contextmanager
def bound_output(budget: int, *, is_json: bool) -> Iterator[None]:
    """Collect what the block prints and write up to `budget` bytes of it at the end. JSON that does
    not fit is not written, since half a document is invalid. Raise UsageError if the budget is
    below `LEAST_BYTES`, or the JSON does not fit."""
    if budget < LEAST_BYTES:
        problem = f"--budget {budget} is below the minimum of {LEAST_BYTES}"
        raise UsageError(problem, f"Use --budget {LEAST_BYTES} or more.")
    out = sys.stdout
    bounded = BoundedBytes(budget)
    sys.stdout = io.TextIOWrapper(bounded, encoding="utf-8", errors="replace", write_through=True)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout.detach()
        sys.stdout = out
        if not is_json or bounded.total <= budget:
            out.buffer.write(bounded.build())
            out.flush()
    if is_json and bounded.total > budget:
        raise UsageError(
            f"the answer has {bounded.total:,} bytes of JSON, over the budget of {budget:,}",
            "Ask for less, use a larger --budget, or leave out --json.",
        )


OnProgress = Callable[[int, int], None]
"""Called with the number of finished items and the total."""


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


@contextmanager
def waiting(what: str) -> Iterator[OnProgress]:
    """Show `what` on stderr until the block ends; yield a function that updates the progress."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console  # noqa: PLC0415 - for people only

    with Console(stderr=True).status(f"{what} …") as status:
        yield lambda done, total: status.update(f"{what}: {done} of {total} …")


Chunk = tuple[str, bytes]


class LiveOutput:
    """Writer that queues chunks and writes them in a thread, so that a slow reader delays no
    deadline. The run's output limit bounds the queue. A terminal gets only text and colours, and a
    CI runner's log gets no commands."""

    def __init__(self, sinks: dict[str, BinaryIO], send: trio.MemorySendChannel[Chunk]) -> None:
        self._sinks = sinks
        self._send = send
        self._screens = {
            name: OutputScreen(is_terminal=sink.isatty(), is_log=is_runner_log(sink))
            for name, sink in sinks.items()
            if sink.isatty() or is_runner_log(sink)
        }

    @classmethod
    @asynccontextmanager
    async def open(cls, stdout: BinaryIO, stderr: BinaryIO) -> AsyncIterator[LiveOutput]:
        """Open the output; the block ends after everything is written. If the reader has closed the
        pipe, the block is cancelled with BrokenPipeError."""
        import trio  # noqa: PLC0415 - verbs without runs load this module too

        send, receive = trio.open_memory_channel[Chunk](float("inf"))
        output = cls({"stdout": stdout, "stderr": stderr}, send)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(output._write, receive)
            async with send:
                yield output

    def feed(self, stream: str, chunk: bytes) -> None:
        """Queue a chunk of one stream of the run."""
        self._send.send_nowait((stream, chunk))

    async def _write(self, receive: trio.MemoryReceiveChannel[Chunk]) -> None:
        async with receive:
            async for stream, chunk in receive:
                screen = self._screens.get(stream)
                await self._put(stream, screen.feed(chunk) if screen else chunk)
        for stream, screen in self._screens.items():
            await self._put(stream, screen.feed(b"", final=True))

    async def _put(self, stream: str, chunk: bytes) -> None:
        if chunk:
            import trio  # noqa: PLC0415 - as above

            await trio.to_thread.run_sync(
                _write_all, self._sinks[stream], chunk, abandon_on_cancel=True
            )


def _write_all(sink: BinaryIO, chunk: bytes) -> None:
    sink.write(chunk)
    sink.flush()
