"""Options that `pack` and `pack map` share: the families, and the task of a command line."""

from __future__ import annotations

import sys

from ctxmode.errors import UsageError
from kb.tokens import FAMILIES

TASK_BYTES = 1 << 20
FAMILY = {"--family": ("", *FAMILIES)}


def read_task(given: str) -> str:
    """Return a task, or stdin's where it is `-`. Raise UsageError if stdin has more than 1 MiB."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read(TASK_BYTES + 1)
    if len(data) > TASK_BYTES:
        raise UsageError("the task has more than 1 MiB", "Give its first part.")
    return data.decode("utf-8", "replace")
