"""A line that tells what is waited for, and how far it is: on a terminal only, gone at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnProgress = Callable[[int, int], None]
"""How many are done, and of how many."""


def ignore_progress(done: int, total: int) -> None:
    """Show nothing, where nobody waits."""


@contextmanager
def waiting(what: str) -> Iterator[OnProgress]:
    """Show it on stderr until the block ends; the function that is yielded keeps it up to date."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console  # noqa: PLC0415 - for people only

    with Console(stderr=True).status(f"{what} …") as status:
        yield lambda done, total: status.update(f"{what}: {done} of {total} …")
