"""Commits of the changes of runs on other machines: the same commit service, the same words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from executor.model import Result, SandboxError, Status
from executor.project.commit_service import with_commit
from executor.run.refusals.collecting import with_commit_refusals

if TYPE_CHECKING:
    from executor.project.store.manifest import ChangeSet
    from executor.project.view.record import Record
    from executor.request import Profile
    from executor.run.runner import Runner


class RemoteCommits:
    """Records the project before a run elsewhere, and commits its changes afterwards."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def record(self, profile: Profile) -> Record | None:
        """Return the project's present state; None if a profile commits nothing.

        From now on, changes of the host are distinguished from those of the run.

        Raises:
            RequestError: the project is too large.
            SandboxUnavailableError: the project cannot be read.
        """
        record = await self._runner.record(profile, whole=False)
        if record is not None:
            await trio.to_thread.run_sync(record.settle)
        return record

    async def bring_in(
        self, result: Result, changes: ChangeSet, label: str, *, stage: bool
    ) -> Result:
        """Commit the changes of a run elsewhere, or hold them with `stage`; return its result.

        The descriptor of contents and the record are closed. The result reports a failed
        commit. Cancelling this waits for the commit.
        """
        door = self._runner.door
        call = partial(door.commit, lambda: changes, changes.record, label, stage=stage)
        try:
            done = await self._runner.through_door(call)
        except SandboxError as error:
            return _failed(result, str(error))
        return with_commit_refusals(with_commit(result, done, stage=stage))


def _failed(result: Result, why: str) -> Result:
    """Return the result of a run whose changes are lost: none of its effects count."""
    return replace(
        result,
        status=Status.SANDBOX_ERROR,
        exit_code=None,
        signal=None,
        message=why,
        changed_files=(),
        changed_files_omitted=0,
        refusals=(),
        refusals_omitted=0,
    )
