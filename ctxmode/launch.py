"""Start of verbs: opens an `App` for a parsed command line; only here trio starts."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ctxmode.config.locations import Config, load_config
from ctxmode.errors import unwrap
from ctxmode.render.highlight import harmless
from ctxmode.render.terminal_output import disarm, is_runner, is_runner_log

# Verbs that run nothing load neither trio nor the executor; a run does not load the store.
if TYPE_CHECKING:
    import trio

    from ctxmode.app import App
    from ctxmode.mcp.server import Offer
    from executor import Request

T = TypeVar("T")

opened: ContextVar[Callable[..., object] | None] = ContextVar("opened", default=None)
"""Runs an action with a project that is open already; set where a command works in a server."""

served: ContextVar[Callable[[Config, Offer], object] | None] = ContextVar("served", default=None)
"""Serves the command's client next to others; set as `opened` is."""


def with_app(
    args: argparse.Namespace, action: Callable[[App], Awaitable[T]], *, sole: Request | None = None
) -> T:
    """Open the App of the arguments' project, run one action with it, and close it. `sole` is
    described in `open_app`."""
    config = replace(
        load_config(args.project),
        isolation=getattr(args, "isolation", None) or "",
        runtime=getattr(args, "runtime", None) or "",
        cluster=getattr(args, "cluster", None) or "",
    )
    return with_app_of(config, action, sole)


def with_app_of(
    config: Config, action: Callable[[App], Awaitable[T]], sole: Request | None = None
) -> T:
    """Run as `with_app`, for a known configuration."""
    if act := opened.get():
        return cast("T", act(config, action, sole))
    from ctxmode.app import open_app  # noqa: PLC0415

    return run_in_trio(partial(act_with, open_app(config, sole=sole), action))


async def act_with(
    opening: AbstractAsyncContextManager[App], action: Callable[[App], Awaitable[T]]
) -> T:
    """Run one action with an App, and print the notices."""
    async with opening as app:
        tell(before := app.notices)
        done = await action(app)
        tell(notice for notice in app.notices if notice not in before)
    return done


def tell(notices: Iterable[str]) -> None:
    """Print notices on stderr, after all earlier output on stdout."""
    for notice in notices:
        sys.stdout.flush()  # pipes are buffered
        sys.stderr.write(f"context-mode: {harmless(notice)}\n")


def ask_person(question: str) -> bool:
    """Ask the user at the terminal; return whether they agree, False without a terminal."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def run_in_trio(action: Callable[[], Awaitable[T]]) -> T:
    """Run an action under trio. SIGTERM and SIGHUP close everything in order and raise SystemExit
    with 128 plus their number."""
    import trio  # noqa: PLC0415

    async def until_asked_to_end() -> T:
        async with trio.open_nursery() as nursery:
            await nursery.start(_watch)
            done = await action()
            nursery.cancel_scope.cancel()
            return done

    try:
        return trio.run(until_asked_to_end)
    except BaseExceptionGroup as group:
        raise unwrap(group) from group


async def _watch(task_status: trio.TaskStatus[None]) -> None:
    import trio  # noqa: PLC0415

    # A signal that is ignored stays ignored: nohup does that.
    wanted = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    with trio.open_signal_receiver(*wanted) as signals:
        task_status.started()
        async for number in signals:
            raise SystemExit(128 + number)


def print_answer(args: argparse.Namespace, data: Mapping[str, Any], text: str) -> None:
    """Print the data with --json, else the text."""
    if args.json:
        print_json(data)
    else:
        print_text(text)


def print_text(text: str) -> None:
    """Print a text on stdout; in a CI runner's log it contains no commands."""
    sys.stdout.write((disarm(text) if is_runner_log(sys.stdout) else text) + "\n")


def print_json(data: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print one JSON document on stdout, with its keys in the documented order."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if is_runner():
        text = text.replace("##", "\\u0023#")  # the same text, but not a command of a CI runner
    sys.stdout.write(f"{text}\n")
