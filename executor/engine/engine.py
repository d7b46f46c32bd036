"""Answers of an engine: a request becomes a result, here or on another machine.

`executor.service.LocalEngine` is the engine. A run in the background is its `run` in a task of its
own, with `observe`. An engine is closed at the end of the block that opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from executor.model import Limits, Result, Status, Stream

if TYPE_CHECKING:
    import policy
    from executor.request import CheckedRequest, Profile

OnOutput = Callable[[str, bytes], None]
"""Gets every chunk of output as it comes, with the stream's name."""
OnProgress = Callable[[int, int], None]
"""Gets how many are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A result, and its whole streams as files of this host. None: the result has all of one.

    The files are on one file system with the state of the server. The caller deletes or moves them.
    """

    result: Result
    stdout_spool: Path | None = None
    stderr_spool: Path | None = None

    def delete_spools(self) -> None:
        """Delete both spools, if there are any."""
        for spool in (self.stdout_spool, self.stderr_spool):
            if spool is not None:
                spool.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """A language here: its toolchain and start time, or why it does not run and the fix."""

    name: str
    runnable: bool
    path: str | None = None
    toolchain: str | None = None
    version: str | None = None
    start_ms: float | None = None
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PackagesAnswer:
    """Packages that were locked: the lock's files by name, and the key of the layer, if fetched."""

    ecosystem: str
    files: Mapping[str, bytes]
    key: str | None = None
    was_kept: bool = False


class RunProgress(Protocol):
    """An active run."""

    label: str

    @property
    def elapsed_s(self) -> float:
        """Return how long the run has taken so far, or took."""

    def stream(self, name: str) -> Stream:
        """Return its output so far, on `stdout` or `stderr`."""

    async def stop(self, reason: Status) -> None:
        """Request the program's end; the first reason is kept."""


Observe = Callable[[RunProgress], None]
"""Gets a run's progress when its turn has come."""
LoadRules = Callable[[], "policy.Rules"]
"""Called before every run, so that new rules apply while a server runs."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of every request."""

    project: Path
    home: Path
    rules: LoadRules | None
    profiles: Mapping[str, Profile]
    limits: Limits


class Elsewhere(Protocol):
    """A sender of runs to other machines."""

    async def place(
        self, judged: CheckedRequest, *, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Run a judged request, here or on another machine.

        Raises:
            RequestError: it can't be run as asked; its hint has the fix.
        """
