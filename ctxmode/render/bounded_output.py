"""Standard output within a budget of bytes: its beginning, its end, and the size of the gap."""

from __future__ import annotations

import io
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxmode.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

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
