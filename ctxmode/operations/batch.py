"""Several commands in one request: side by side or in order, all of it under one deadline."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import trio

from ctxmode.errors import ContextModeError
from ctxmode.operations.answers import CommandAnswer
from ctxmode.render.progress_line import OnProgress, ignore_progress
from executor.model import Limits, Request
from executor.run.output_routing import Answer

CONCURRENCY_MAX = 64
# The share of the time that is kept for storing what the last commands printed, and for queries.
RESERVE_SHARE = 0.1
RESERVE_S_MAX = 2.0
USED_UP = "the batch's time was used up"


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """One command; `label` is how the answer calls it."""

    label: str
    command: str
    language: str = "shell"


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Commands, and what to look for in what they print.

    `timeout_s` is for all of them together, with keeping and searching; a command whose turn comes
    later is not run. `concurrency` of None is two for each processor, since starting and ending a
    program is mostly waiting, but one after the other where what a command writes is there for the
    next. `scope` is "batch" (the queries search these outputs) or "global" (all that was kept).
    """

    commands: tuple[BatchCommand, ...]
    queries: tuple[str, ...] = ()
    timeout_s: float | None = None
    concurrency: int | None = None
    cwd: str | None = None
    scope: str = "batch"
    profile: str = "analyze"

    @property
    def total_s(self) -> float:
        """How long all of it may take."""
        return self.timeout_s if self.timeout_s is not None else Limits().wall_s

    @property
    def workers(self) -> int:
        """How many commands run at once."""
        usual = 2 * (os.cpu_count() or 1) if self.profile == "analyze" else 1
        return max(1, min(self.concurrency or usual, CONCURRENCY_MAX, len(self.commands)))


async def run_commands(
    batch: BatchRequest,
    execute: Callable[[Request, str], Awaitable[Answer]],
    deadline: float,
    on_progress: OnProgress = ignore_progress,
) -> tuple[CommandAnswer, ...]:
    """Every command's answer, in the order given. `execute` gets the request and the label,
    `on_progress` how many are done.

    At the deadline, on trio's clock, whatever is not finished is given up.
    """
    answers: dict[int, CommandAnswer] = {}
    # Workers that take from one iterator keep the given order when there is only one of them.
    waiting = iter(enumerate(batch.commands))

    async def work(waiting: Iterator[tuple[int, BatchCommand]]) -> None:
        for number, command in waiting:
            answers[number] = await _run_one(command, batch, deadline, execute)
            on_progress(len(answers), len(batch.commands))

    async with trio.open_nursery() as nursery:
        for _ in range(batch.workers):
            nursery.start_soon(work, waiting)
    return tuple(answers[number] for number in range(len(batch.commands)))


def request_of(command: BatchCommand, batch: BatchRequest, timeout_s: float | None) -> Request:
    """What is run for one command."""
    return Request(
        command.language,
        code=command.command,
        cwd=batch.cwd,
        timeout_s=timeout_s,
        profile=batch.profile,
        # As many at once as were asked for, whatever the usual number is.
        background=batch.concurrency is not None,
    )


async def _run_one(
    command: BatchCommand,
    batch: BatchRequest,
    deadline: float,
    execute: Callable[[Request, str], Awaitable[Answer]],
) -> CommandAnswer:
    left_s = deadline - trio.current_time() - min(RESERVE_S_MAX, RESERVE_SHARE * batch.total_s)
    if left_s <= 0:
        return _skip(command, f"{USED_UP} by the commands before it")
    answer = None
    with trio.move_on_at(deadline):
        try:
            answer = await execute(request_of(command, batch, left_s), command.label)
        except (ContextModeError, OSError) as error:  # the others' answers are not lost with it
            return _skip(command, str(error))
    if answer is None:
        return _skip(command, f"{USED_UP} before it was done")
    return CommandAnswer(command.label, command.command, answer)


def _skip(command: BatchCommand, reason: str) -> CommandAnswer:
    return CommandAnswer(command.label, command.command, None, reason)
