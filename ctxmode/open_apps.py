"""Projects that stay open between the commands that use them."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import trio

import runtimes
from ctxmode.app import App, open_app
from ctxmode.config.file_names import PROJECT_FILE, USER_FILE
from ctxmode.errors import ContextModeError, UsageError, unwrap

if TYPE_CHECKING:
    from ctxmode.config.locations import Config
    from executor import Request

OPEN_MAX = 16
"""Maximum number of open projects of one server; each has its own sandbox and database."""


@dataclass(slots=True, eq=False)
class _OpenApp:
    """An open project with its users."""

    app: App
    state: object  # of the files that `open_app` reads once
    scope: trio.CancelScope
    users: int = 0
    used_at: float = 0.0


class OpenApps:
    """Open projects, made only by `OpenApps.open`. One that nobody used for a while is closed."""

    def __init__(self, nursery: trio.Nursery, idle_s: float) -> None:
        self._nursery = nursery
        self._idle_s = idle_s
        self._open: dict[Config, _OpenApp] = {}
        self._opening: dict[Config, trio.Lock] = {}
        self._context = copy_context()  # that of no command: a project outlives those

    @classmethod
    @asynccontextmanager
    async def open(cls, idle_s: float) -> AsyncIterator[OpenApps]:
        """Set up without opening any; on exit close all, which ends their runs."""
        async with trio.open_nursery() as nursery:
            apps = cls(nursery, idle_s)
            if idle_s < math.inf:
                nursery.start_soon(apps._close_idle)
            try:
                yield apps
            finally:
                nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def lease(self, config: Config, request: Request | None) -> AsyncIterator[App]:
        """Lend a project, for one request or until the block ends. A project whose settings or
        toolchains have changed since is opened again. Raise ContextModeError if it can't be."""
        async with self._opening.setdefault(config, trio.Lock()):
            held = self._open.get(config)
            state = await trio.to_thread.run_sync(_read_state, config)
            if held and (held.state != state or not await _is_current(held.app, config, request)):
                self._retire(config)
                held = None
            if held is None:
                self._make_room()
                held = await self._open_one(config, state)
            held.users += 1
        try:
            yield held.app
        finally:
            held.users -= 1
            held.used_at = trio.current_time()
            if self._open.get(config) is not held and not held.users:
                held.scope.cancel()

    async def _open_one(self, config: Config, state: object) -> _OpenApp:
        """Open a project, also if the command that needs it is gone before."""
        send, receive = trio.open_memory_channel[_OpenApp | ContextModeError](1)
        start = partial(self._nursery.start_soon, self._hold, config, state, send.send_nowait)
        self._context.copy().run(start)
        opened = await receive.receive()
        if isinstance(opened, ContextModeError):
            raise opened
        return opened

    async def _hold(
        self,
        config: Config,
        state: object,
        report: Callable[[_OpenApp | ContextModeError], None],
    ) -> None:
        """Keep a project open until its scope is cancelled, in a separate task."""
        is_open = False
        try:
            with trio.CancelScope() as scope:
                async with open_app(config) as app:
                    for notice in app.notices:
                        logging.getLogger(__name__).warning("%s", notice)
                    held = _OpenApp(app, state, scope, 0, trio.current_time())
                    self._open[config], is_open = held, True
                    report(held)
                    await trio.sleep_forever()
        except Exception as raised:
            error = unwrap(raised)
            if is_open or not isinstance(error, ContextModeError):
                raise
            report(error)

    def _retire(self, config: Config) -> None:
        """Lend a project to no one else; it closes when its last user ends."""
        held = self._open.pop(config)
        if not held.users:
            held.scope.cancel()

    def _make_room(self) -> None:
        unused = [config for config, held in self._open.items() if not held.users]
        if len(self._open) >= OPEN_MAX:
            if not unused:
                raise UsageError(
                    f"this server already has {OPEN_MAX} open projects", "Start another server."
                )
            self._retire(min(unused, key=lambda config: self._open[config].used_at))

    async def _close_idle(self) -> None:
        while True:
            await trio.sleep(self._idle_s / 10)
            before = trio.current_time() - self._idle_s
            for config, held in list(self._open.items()):
                if not held.users and held.used_at < before:
                    self._retire(config)


def _read_state(config: Config) -> object:
    """Return a value that changes with the settings, and if another folder is the project."""
    files = (config.config_home / USER_FILE, config.project / PROJECT_FILE)
    project = os.stat(config.project) if config.project.is_dir() else None
    return (project and (project.st_dev, project.st_ino), *map(_stamp, files))


def _stamp(path: os.PathLike[str]) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


async def _is_current(app: App, config: Config, request: Request | None) -> bool:
    """Return whether a request's language is found where it was when the project was opened."""
    if request is None:
        return True
    try:
        row = runtimes.language(request.language)
    except runtimes.UnknownLanguage:
        return True  # the request's check reports it
    return await trio.to_thread.run_sync(app.finds_same, row)
