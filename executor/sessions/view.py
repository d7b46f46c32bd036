"""What a session sees of the project: kept up with the host, and committed call by call.

Where an overlay can be mounted anew, that is the view. Elsewhere it is a work copy, in which the
server replaces what the host has changed while everything of the session stands still.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from executor.engine.orders import pack_begin
from executor.model import RequestError, SandboxError
from executor.project.view.search import Folder, Guarded
from executor.request import Profile, ProjectAccess

if TYPE_CHECKING:
    from executor.engine.box import Box, Layout
    from executor.project.commit import Change, Commit
    from executor.project.view.record import Record
    from executor.run.runner import Runner

MOUNTED_ANEW = (
    "the project is seen as it is by now; what was open before, and background programs, still see "
    "it as it was"
)
COPIED_ANEW = (
    "the project is seen as it is by now; files that were open before, and have been replaced "
    "since, still are what they were"
)


class SessionView:
    """Made for one session. `layout` and `record` are those of the call under way."""

    layout: Layout

    def __init__(self, runner: Runner, profile: Profile) -> None:
        self.record: Record | None = None
        self._runner = runner
        self._profile = profile
        self._folders: Mapping[str, Folder] | None = None  # as the last call saw them
        self._committed: Record | None = None  # as far as the view is known to show it
        self._leftovers = False  # whether the view has what was not committed

    @property
    def is_read_only(self) -> bool:
        """Whether there is no view to renew: then the project is shown as it is, read-only."""
        can = self._runner.placement.can
        return not can.copy_on_write and self._profile.project is ProjectAccess.COPY_ON_WRITE

    @property
    def is_copy(self) -> bool:
        return self.layout.work_copy is not None

    async def open(self) -> None:
        """Make the folders of the session's box.

        Raises:
            RequestError, SandboxUnavailableError: the project can't be shown so.
        """
        self.record = await self._runner.record(self._profile)
        self.layout = await self._runner.layout(self._profile, self.record, session=True)

    async def begin(self) -> tuple[bytes, str]:
        """Have the project seen, and guarded, as it is by now. All of the session stands still.

        Return the order that begins a call, and what its result says about the view.

        Raises:
            SandboxError: a copy of it could not be renewed.
        """
        is_stale = await self._is_stale()
        if self.is_copy:
            if is_stale:
                await self._renew_copy()
            # What is hidden of the project is not in the copy; what has its name, is the program's.
            order = pack_begin(Guarded(), renew=False, keep=True)
            return order, COPIED_ANEW * is_stale
        search = self._runner.placement.search
        guarded = await trio.to_thread.run_sync(search.find_guarded, self._profile.sockets)
        keep = self._profile.project is not ProjectAccess.COMMIT
        order = pack_begin(guarded, renew=is_stale, keep=keep)
        return order, MOUNTED_ANEW * is_stale

    async def commit(self, cell: Box, label: str) -> Commit:
        """Commit what a call changed, all of the session being stopped.

        Raises:
            SandboxError: nothing of it could be.
        """
        assert self.record is not None
        done = await self._runner.commit(cell, self.layout, self.record, self._profile, label)
        self._leftovers = bool(done.left_out)
        # Where the host changed something during the call, the view is renewed before the next.
        self._committed = self.record
        if done.changed and (now := await self._runner.record(self._profile)):
            check = partial(differs_only_by, self.record, now, done.changed)
            if await trio.to_thread.run_sync(check):
                await self._agree(now)
        return done

    async def _is_stale(self) -> bool:
        """Whether the view may differ from the project; what is recorded is of this call."""
        if self._profile.project is ProjectAccess.COMMIT:
            if self._committed is None:  # the first call
                return False
            self.record = await self._runner.record(self._profile)
            return self._leftovers or self.record != self._committed
        if self._profile.project is ProjectAccess.COPY_ON_WRITE and not self.is_read_only:
            return await trio.to_thread.run_sync(self._has_changed)
        return False

    def _has_changed(self) -> bool:
        """Return whether any folder of the project has changed since the last call.

        A mounted overlay keeps what it has looked up: a file that was replaced by renaming stays
        the old one. One that was looked up before it was made stays absent. Both change the time of
        a folder. What is edited in place is seen anyway.
        """
        search = self._runner.placement.search
        before, self._folders = self._folders, search.look(everywhere=True).folders
        return before is not None and before != self._folders

    async def _agree(self, now: Record) -> None:
        """The view shows what the project is by `now`, unless something was left out."""
        self._committed = now
        copy = self.layout.work_copy
        if copy is not None and not self._leftovers:
            copy = await trio.to_thread.run_sync(copy.record_agreed, now)
            self.layout = replace(self.layout, work_copy=copy)

    async def _renew_copy(self) -> None:
        copy = self.layout.work_copy
        assert copy is not None
        assert self.record is not None
        try:
            copy = await trio.to_thread.run_sync(copy.renew, self.record)
        except (OSError, RequestError) as error:
            raise SandboxError(f"the copy of the project could not be renewed: {error}") from error
        self.layout = replace(self.layout, work_copy=copy)


def differs_only_by(before: Record, after: Record, changed: Iterable[Change]) -> bool:
    """Return whether between two records of a project nothing changed but what a commit did."""
    changed = tuple(changed)
    if before.hidden != after.hidden or not all(_is_as_committed(each, after) for each in changed):
        return False
    own: set[str] = set()
    for change in changed:
        for path in filter(None, (change.path, change.source)):
            own |= {path, path.rpartition("/")[0]}
    different = {path for path, state in after.states.items() if before.states.get(path) != state}
    different |= before.states.keys() - after.states.keys()
    return different <= own


def _is_as_committed(change: Change, after: Record) -> bool:
    """Whether a file that was written is still as it was: the host may have been at it already."""
    if change.kind != "file" or change.change not in ("created", "modified", "renamed"):
        return True
    state = after.states.get(change.path)
    return state is not None and (state.size, state.mtime_ns) == (change.size, change.mtime_ns)
