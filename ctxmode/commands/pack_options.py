"""The options that `pack` and `map` share, and the task as the command line gives it."""

from __future__ import annotations

import argparse
import sys

from ctxmode.errors import UsageError
from kb.tokens import FAMILIES
from repomap import BUDGET

TASK_BYTES = 1 << 20


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what both take."""
    parser.add_argument("--task", "-t", default="", metavar="TEXT",
        help="what is to be done; - is stdin (default: what `task` keeps)")  # fmt: skip
    parser.add_argument("--budget", "-b", type=int, default=BUDGET, metavar="TOKENS",
        help=f"the most that it takes (default {BUDGET})")  # fmt: skip
    parser.add_argument("--family", default="", choices=("", *FAMILIES), metavar="NAME",
        help=f"who counts tokens: {', '.join(FAMILIES)} (default: tokens.family)")  # fmt: skip
    parser.add_argument("--paths", action="append", default=[], metavar="GLOB",
        help="only this file, folder or glob; may be said again")  # fmt: skip
    parser.add_argument("--no-tests", action="store_true", help="leave tests out")


def read_task(given: str) -> str:
    """Return a task, or stdin's where it is `-`.

    Raises:
        UsageError: stdin has more than 1 MiB.
    """
    if given != "-":
        return given
    data = sys.stdin.buffer.read(TASK_BYTES + 1)
    if len(data) > TASK_BYTES:
        raise UsageError("the task has more than 1 MiB", "Give its first part.")
    return data.decode("utf-8", "replace")
