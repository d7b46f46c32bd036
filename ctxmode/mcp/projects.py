"""The projects that a server has open: each is opened when it is first asked for, then kept.

So `initialize` is answered before any sandbox is tried. A call tries again where an earlier one
could not open the project.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ctxmode.app import App, open_app
from ctxmode.config.file_names import PROJECT_MARKS
from ctxmode.config.locations import Config, refuse_folder, require_project
from ctxmode.errors import ContextModeError, UsageError, unwrap
from ctxmode.mcp.conversation import Levels

if TYPE_CHECKING:
    from fleet import Fleet

OPEN_MAX = 16
"""How many projects one server holds open: each has a sandbox and a database of its own."""

WORKING_ENTRIES_MAX = 100_000
"""The number of entries that a folder may have that is a project only because a server was started
there."""


class Projects:
    """Made by `open_projects` only."""

    def __init__(self, config: Config, nursery: trio.Nursery) -> None:
        self.config = config
        self.nursery = nursery
        """For what goes on beside the calls; it ends with the server."""
        self.levels = Levels()
        self._open: dict[Path, App] = {}
        self._opening: dict[Path, trio.Lock] = {}
        # The folder that a client over stdio works in; None: it was not asked yet.
        self.root: tuple[Path | None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def fleets(self) -> list[Fleet]:
        """List the fleets of the projects that are open, where runs are sent to other machines."""
        return [app.fleet for app in self._open.values() if app.fleet is not None]

    async def app(self, folder: Path | None = None, *, is_named: bool = False) -> App:
        """Open the project in `folder`, a real path; None is the one that the server was started
        for. `is_named` says that the client named it. ContextModeError: it cannot be opened; the
        next call tries again."""
        folder = folder or self.config.project
        async with self._opening.setdefault(folder, trio.Lock()):
            if folder not in self._open:
                if folder == self.config.project and not is_named:
                    await trio.to_thread.run_sync(check_working_folder, self.config)
                if len(self._open) >= OPEN_MAX:
                    raise UsageError(
                        f"this server has {OPEN_MAX} projects open", "Start another server."
                    )
                opened = await self.nursery.start(self._hold, replace(self.config, project=folder))
                if isinstance(opened, Exception):
                    raise opened
                self._open[folder] = opened
            return self._open[folder]

    async def _hold(
        self, config: Config, task_status: trio.TaskStatus[App | ContextModeError]
    ) -> None:
        """Keep a project open until the server ends, in a task of its own."""
        opened = False
        try:
            async with open_app(config) as app:
                for notice in app.notices:
                    logging.getLogger(__name__).warning("%s", notice)
                task_status.started(app)
                opened = True
                await trio.sleep_forever()
        except Exception as raised:
            error = unwrap(raised)
            if opened or not isinstance(error, ContextModeError):
                raise
            task_status.started(error)


def check_working_folder(config: Config) -> None:
    """Refuse a folder that nobody named and nobody works in: many hosts start servers in `/` or in
    the home folder. Each run would be preceded by a search through all of it.

    Raises:
        UsageError: the folder is not marked as a project, and it is the home folder or large.
    """
    folder = config.project
    require_project(config)
    if config.project_is_given:
        return
    if folder == config.home:
        raise refuse_folder(folder, "it is your home folder")
    if any((folder / mark).exists() for mark in PROJECT_MARKS):
        return
    if _has_over(folder, WORKING_ENTRIES_MAX):
        raise refuse_folder(
            folder, f"it has over {WORKING_ENTRIES_MAX:,} entries, and no .git or .ctxmode"
        )


def _has_over(folder: Path, entries_max: int) -> bool:
    """Return whether a folder has more entries than that, counted no further."""
    seen, ahead = 0, [str(folder)]
    while ahead and seen <= entries_max:
        with suppress(OSError), os.scandir(ahead.pop()) as listing:
            for entry in listing:
                seen += 1
                if seen > entries_max:
                    break
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(entry.path)
    return seen > entries_max


@asynccontextmanager
async def open_projects(config: Config) -> AsyncIterator[Projects]:
    """Open no project yet; on the way out close all, which ends their runs."""
    async with trio.open_nursery() as nursery:
        try:
            yield Projects(config, nursery)
        finally:
            nursery.cancel_scope.cancel()
