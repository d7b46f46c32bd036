"""Batches: several commands in one request, in parallel or in order, under one deadline."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import trio

from ctxmode.app import App
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.parallel_work import work_through
from ctxmode.render.terminal_output import OnProgress, ignore_progress
from executor import Caller, Limits, Request
from executor.run import Answer
from kb import QueryResult

CONCURRENCY_MAX = 64
# The share of the time that is reserved for storing the last outputs, and for queries.
RESERVE_SHARE = 0.1
RESERVE_S_MAX = 2.0
USED_UP = "the batch's time was used up"


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """One command of a batch, and its result."""

    label: str  # its name in the answer
    command: str
    answer: Answer | None = None  # None if it has not run
    skipped: str = ""  # why it was not run
    language: str = "shell"
    packages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        answer = None if self.answer is None else self.answer.to_json()
        return {"label": self.label, "command": self.command, "skipped": self.skipped} | (
            answer or {"result": None}
        )


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The commands in the order given, and the passages that the queries found in their outputs."""

    commands: tuple[BatchCommand, ...]
    queries: tuple[QueryResult, ...] = ()
    note: str = ""  # why queries were not answered

    @property
    def ok(self) -> bool:
        ran = all(c.answer is not None and c.answer.result.ok for c in self.commands)
        return ran and not self.note

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "commands": [command.to_json() for command in self.commands],
            "queries": [asdict(query) for query in self.queries],
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Commands, and queries to search in their outputs.

    Without `concurrency`, profile analyze runs two commands for each processor, or as many as other
    machines accept. Other profiles run one at a time, because a command may read the files of the
    one before it.
    """

    commands: tuple[BatchCommand, ...]
    queries: tuple[str, ...] = ()
    # For all commands together, with storing and searching, without fetching their packages.
    # Commands that have not started by then are not run.
    timeout_s: float | None = None
    concurrency: int | None = None
    cwd: str | None = None
    scope: str = "batch"  # "batch" searches these outputs, "global" the whole store
    profile: str = "analyze"

    @property
    def total_s(self) -> float:
        """Return the time limit of the whole batch."""
        return self.timeout_s if self.timeout_s is not None else Limits().wall_s

    def count_workers(self, at_once: int | None = None) -> int:
        """Return how many commands run at once; `at_once` is how many other machines accept."""
        usual = at_once or 2 * (os.cpu_count() or 1) if self.profile == "analyze" else 1
        return min(self.concurrency or usual, CONCURRENCY_MAX, len(self.commands))


async def run_batch(
    app: App,
    request: BatchRequest,
    caller: Caller | None = None,
    on_progress: OnProgress = ignore_progress,
    *,
    fetching: Caller | None = None,
) -> BatchAnswer:
    """Run the commands, then search their outputs for the queries.

    `fetching` approves fetching packages, before anything runs.

    Raises:
        UsageError: a command cannot be run as requested; none was run.
    """
    for command in request.commands:
        await app.check(request_of(command, request, request.timeout_s), command.label)
    lacking = await _have_packages(app, request, fetching or caller or Caller())
    ask = bool(request.queries)

    async def execute(one: Request, label: str) -> Answer:
        if error := lacking.get((one.language, one.packages)):
            raise error
        return await app.execute(one, name=label, always_keep=ask, caller=caller)

    deadline = trio.current_time() + request.total_s
    workers = request.count_workers(app.at_once)
    commands = await run_commands(request, execute, deadline, workers, on_progress)
    if not ask:
        return BatchAnswer(commands)
    kept = [command.answer.kept for command in commands if command.answer]
    ids = [stream.source_id for one in kept if one for stream in one.streams.values()]
    scope = None if request.scope == "global" else ids
    with trio.move_on_at(deadline):
        found = await app.read(lambda it: it.search_in(request.queries, scope))
        return BatchAnswer(commands, found)
    return BatchAnswer(commands, note=f"{USED_UP} before its queries were answered")


async def _have_packages(
    app: App, batch: BatchRequest, caller: Caller
) -> dict[tuple[str, tuple[str, ...]], ContextModeError]:
    """Fetch the packages of the commands; return the errors of those that cannot be fetched. Raise
    UsageError if a command's package names are invalid."""
    lacking: dict[tuple[str, tuple[str, ...]], ContextModeError] = {}
    tried = set()
    for command in batch.commands:
        named = (command.language, command.packages)
        if not command.packages or named in tried:
            continue
        tried.add(named)
        try:
            await app.packages(request_of(command, batch, None), caller)
        except UsageError as error:
            raise UsageError(f"{command.label}: {error.message}", error.hint) from error
        except ContextModeError as error:  # the other commands run without them
            lacking[named] = error
    return lacking


async def run_commands(
    batch: BatchRequest,
    execute: Callable[[Request, str], Awaitable[Answer]],
    deadline: float,
    workers: int,
    on_progress: OnProgress = ignore_progress,
) -> tuple[BatchCommand, ...]:
    """Run every command with `execute(request, label)`, `workers` at once; return the answers in
    order. At the deadline (trio's clock) unfinished commands are abandoned."""

    async def run(command: BatchCommand) -> BatchCommand:
        return await _run_one(command, batch, deadline, execute)

    return await work_through(batch.commands, run, workers, on_progress)


def request_of(command: BatchCommand, batch: BatchRequest, timeout_s: float | None) -> Request:
    """Build the run request of one command."""
    return Request(
        command.language,
        code=command.command,
        cwd=batch.cwd,
        timeout_s=timeout_s,
        profile=batch.profile,
        packages=command.packages,
        # A requested concurrency overrides the usual number of parallel runs.
        background=batch.concurrency is not None,
    )


async def _run_one(
    command: BatchCommand,
    batch: BatchRequest,
    deadline: float,
    execute: Callable[[Request, str], Awaitable[Answer]],
) -> BatchCommand:
    left_s = deadline - trio.current_time() - min(RESERVE_S_MAX, RESERVE_SHARE * batch.total_s)
    if left_s <= 0:
        return replace(command, skipped=f"{USED_UP} by the commands before it")
    answer = None
    with trio.move_on_at(deadline):
        try:
            answer = await execute(request_of(command, batch, left_s), command.label)
        except (ContextModeError, OSError) as error:  # the other commands' answers are kept
            return replace(command, skipped=str(error))
    if answer is None:
        return replace(command, skipped=f"{USED_UP} before it ended")
    return replace(command, answer=answer)
