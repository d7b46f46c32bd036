"""What the program asks of an engine: a request becomes a result, here or on another machine.

`executor.service.LocalEngine` is the engine of this machine. A run in the background is `run` in a
task of its own, with `observe`. An engine is closed at the end of the block that opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from executor.caller import Caller
from executor.model import Isolation, Request, Result, Status, Stream

OnOutput = Callable[[str, bytes], None]
"""Gets every chunk of output as it comes, with the stream's name."""
OnProgress = Callable[[int, int], None]
"""Gets how many are done, and of how many."""


class Spool(Protocol):
    """A handle to the whole of an output stream; whoever has it deletes it or moves it away."""

    def read(self) -> bytes:
        """All of it.

        Raises:
            OSError: it is gone.
        """

    def move_to(self, path: Path) -> None:
        """Make it a file of this host (mode 0600), which is the caller's from then on.

        Raises:
            OSError: it is gone, or there is no room.
        """

    def delete(self) -> None:
        """Delete it, if it is still there."""


@dataclass(frozen=True, slots=True)
class FileSpool:
    """A spool that is a file of this host."""

    path: Path

    def read(self) -> bytes:
        """All of it."""
        return self.path.read_bytes()

    def move_to(self, path: Path) -> None:
        """Rename it; both paths are on one file system."""
        self.path.rename(path)

    def delete(self) -> None:
        """Delete it, if it is still there."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Completed:
    """A result, and handles to its whole streams. None means that the result has all of it."""

    result: Result
    stdout_spool: Spool | None = None
    stderr_spool: Spool | None = None


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """Whether a language runs here: by what and how fast, or why not and what helps."""

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


@dataclass(frozen=True, slots=True)
class PoolState:
    """What is kept for one purpose, and how often a member was there when it was asked for."""

    label: str
    idle: int
    bytes: int
    hits: int
    misses: int
    trouble: str = ""  # why the last one that was tried could not be made


class RunProgress(Protocol):
    """A run that is under way."""

    label: str

    @property
    def elapsed_s(self) -> float:
        """How long it takes by now, or took."""

    def stream(self, name: str) -> Stream:
        """What it has printed so far, on `stdout` or `stderr`."""

    async def stop(self, reason: Status) -> None:
        """Have the program ended; the first reason stands."""


Observe = Callable[[RunProgress], None]
"""Gets a run's progress when its turn has come."""


class Engine(Protocol):
    """Runs requests for one project."""

    @property
    def isolation(self) -> Isolation:
        """The tier in use and its layers."""

    @property
    def at_once(self) -> int | None:
        """How many runs it takes at once on other machines; None where there is no other."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of where runs were done, as far as it has come up."""

    @property
    def sessions(self) -> tuple[str, ...]:
        """The names of the sessions that live, the one used longest ago first."""

    @property
    def pools(self) -> tuple[PoolState, ...]:
        """What is prewarmed, by purpose, the one used last first."""

    async def run(
        self,
        request: Request,
        *,
        on_output: OnOutput | None = None,
        observe: Observe | None = None,
        caller: Caller | None = None,
    ) -> Completed:
        """Run one program, from its request to its end; see `LocalEngine.run`.

        Raises:
            RequestError: the request can't be run as asked; its hint says what to do.
        """

    async def check(self, request: Request) -> None:
        """Refuse what `run` would refuse of the request as such, and run nothing.

        Raises:
            RequestError: the request can't be run as asked; its hint says what to do.
        """

    async def have_packages(
        self, request: Request, caller: Caller, *, fetch: bool, fresh: bool = False
    ) -> PackagesAnswer:
        """Lock a request's packages, and `fetch` them, unless they are kept; run nothing.

        `fresh` locks anew.

        Raises:
            RequestError: they are named wrongly, or the language does not run here.
            PackagesError: they can't be had.
        """

    async def languages(
        self, *, refresh: bool = False, on_progress: OnProgress | None = None
    ) -> Mapping[str, LanguageReport]:
        """Every language of the table, proven by a run; `refresh` proves anew."""

    async def language(self, name: str) -> LanguageReport:
        """One language, as `languages` reports it."""

    async def interrupt(self, session: str, owner: str = "") -> bool:
        """Tell what runs in a session to stop, as Ctrl-C does; whether any does.

        Raises:
            SandboxError: the session's box is gone.
        """
