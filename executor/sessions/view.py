"""A session's view of the project: kept up to date with the host, and committed call by call.

If an overlay can be remounted, that is the view. Otherwise it is a work copy, in which the server
replaces files that the host has changed while all processes of the session are stopped.
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
    from executor.project.store.manifest import Change, Commit
    from executor.project.view.record import Record
    from executor.run.runner import Runner

MOUNTED_ANEW = (
    "the session now sees the current project; files opened earlier, and background programs, "
    "still see the previous state"
)
COPIED_ANEW = (
    "the session now sees the current project; files opened earlier and replaced since still "
    "have their previous content"
)


class SessionView:
    """The view of one session. `layout` and `record` are those of the active call."""

    layout: Layout

    def __init__(self, runner: Runner, profile: Profile) -> None:
        self.record: Record | None = None
        self._runner = runner
        self._profile = profile
        self._folders: Mapping[str, Folder] | None = None  # as the last call saw them
        self._committed: Record | None = None  # the state that the view is known to show
        self._leftovers = False  # whether the view has uncommitted changes

    @property
    def is_read_only(self) -> bool:
        """Return whether there is no view to renew: then the project itself is shown, read-only."""
        can = self._runner.placement.can
        return not can.copy_on_write and self._profile.project is ProjectAccess.COPY_ON_WRITE

    @property
    def is_copy(self) -> bool:
        return self.layout.work_copy is not None

    async def open(self) -> None:
        """Make the folders of the session's box.

        Raises:
            RequestError, SandboxUnavailableError: the project cannot be shown this way.
        """
        self.record = await self._runner.record(self._profile)
        self.layout = await self._runner.layout(self._profile, self.record, session=True)

    async def begin(self) -> tuple[bytes, str]:
        """Update the view and its guard to the project as it is now. All of the session is stopped.

        Return the order that starts a call, and the result's note about the view.

        Raises:
            SandboxError: the copy could not be renewed.
        """
        is_stale = await self._is_stale()
        if self.is_copy:
            if is_stale:
                await self._renew_copy()
            # Hidden parts of the project are not in the copy; a file of that name is the program's.
            order = pack_begin(Guarded(), renew=False, keep=True)
            return order, COPIED_ANEW * is_stale
        search = self._runner.placement.search
        guarded = await trio.to_thread.run_sync(search.find_guarded, self._profile.sockets)
        keep = self._profile.project is not ProjectAccess.COMMIT
        order = pack_begin(guarded, renew=is_stale, keep=keep)
        return order, MOUNTED_ANEW * is_stale

    async def commit(self, cell: Box, label: str) -> Commit:
        """Commit the changes of a call, with all of the session stopped.

        Raises:
            SandboxError: no change could be committed.
        """
        assert self.record is not None
        done = await self._runner.commit(cell, self.layout, self.record, self._profile, label)
        self._leftovers = bool(done.left_out)
        # If the host changed something during the call, the view is renewed before the next.
        self._committed = self.record
        if done.changed and (now := await self._runner.record(self._profile)):
            check = partial(differs_only_by, self.record, now, done.changed)
            if await trio.to_thread.run_sync(check):
                await self._agree(now)
        return done

    async def _is_stale(self) -> bool:
        """Return whether the view may differ from the project; the record is of this call."""
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

        A mounted overlay keeps its look-ups. A file replaced by renaming stays the old one, and one
        that was looked up before it was made stays absent. Both change the time of a folder. Edits
        in place are seen anyway.
        """
        search = self._runner.placement.search
        before, self._folders = self._folders, search.look(everywhere=True).folders
        return before is not None and before != self._folders

    async def _agree(self, now: Record) -> None:
        """Note that the view shows the project of `now`, unless something was left out."""
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
    """Return whether two records of a project differ only by the changes of a commit."""
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
    """Return whether a written file is unchanged: the host may already have changed it again."""
    if change.kind != "file" or change.change not in ("created", "modified", "renamed"):
        return True
    state = after.states.get(change.path)
    return state is not None and (state.size, state.mtime_ns) == (change.size, change.mtime_ns)
