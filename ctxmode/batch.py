"""Several commands in one request: run in order or side by side under one deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import trio

from ctxmode.answers import CommandAnswer
from ctxmode.errors import ContextModeError
from executor.keep import Answer
from executor.model import Limits, Request

CONCURRENCY_MAX = 8


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """One command; `label` is how the answer calls it."""

    label: str
    command: str
    language: str = "shell"


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Commands, and what to look for in what they print.

    `timeout_s` is for all of them together; a command whose turn comes later is not run.
    `scope` is "batch" (the queries search these outputs) or "global" (all that was ever kept).
    """

    commands: tuple[BatchCommand, ...]
    queries: tuple[str, ...] = ()
    timeout_s: float | None = None
    concurrency: int = 1
    cwd: str | None = None
    scope: str = "batch"
    profile: str = "analyze"


async def run_commands(
    batch: BatchRequest, execute: Callable[[Request, str], Awaitable[Answer]]
) -> tuple[CommandAnswer, ...]:
    """Every command's answer, in the order given. `execute` gets the request and the label."""
    total_s = batch.timeout_s if batch.timeout_s is not None else Limits().wall_s
    deadline = trio.current_time() + total_s
    answers: dict[int, CommandAnswer] = {}
    # Workers that take from one iterator keep the given order when there is only one of them.
    waiting = iter(enumerate(batch.commands))

    async def work(waiting: Iterator[tuple[int, BatchCommand]]) -> None:
        for number, command in waiting:
            answers[number] = await _run_one(command, batch, deadline, execute)

    async with trio.open_nursery() as nursery:
        for _ in range(min(batch.concurrency, CONCURRENCY_MAX)):
            nursery.start_soon(work, waiting)
    return tuple(answers[number] for number in range(len(batch.commands)))


async def _run_one(
    command: BatchCommand,
    batch: BatchRequest,
    deadline: float,
    execute: Callable[[Request, str], Awaitable[Answer]],
) -> CommandAnswer:
    left_s = deadline - trio.current_time()
    if left_s <= 0:
        reason = "the batch's time was used up by the commands before it"
        return CommandAnswer(command.label, command.command, None, reason)
    request = Request(
        command.language,
        code=command.command,
        cwd=batch.cwd,
        timeout_s=left_s,
        profile=batch.profile,
    )
    try:
        answer = await execute(request, command.label)
    except ContextModeError as error:
        return CommandAnswer(command.label, command.command, None, str(error))
    return CommandAnswer(command.label, command.command, answer)
