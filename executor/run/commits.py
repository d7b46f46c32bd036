"""Commits of runs: of the repositories that git reads in boxes, and of runs elsewhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor.engine.box import SYSTEM_PATH, Layout, Order
from executor.instance import lock
from executor.model import (
    GIB,
    Limits,
    RequestError,
    Result,
    SandboxError,
    SandboxUnavailableError,
    Status,
)
from executor.project.commit_service import with_commit
from executor.project.git.host import GitError
from executor.project.git.repository_export import Scratch
from executor.request import Profile, ProjectAccess
from executor.run.refusals.collecting import with_commit_refusals
from runtimes import Step

if TYPE_CHECKING:
    from executor.project.store.manifest import ChangeSet
    from executor.project.view.record import Record
    from executor.run.runner import Runner

BORROWED: Final = "/borrowed-objects"
"""The place of the host's objects in a box that has its own file system."""
READING: Final = Profile("repository", ProjectAccess.COPY_ON_WRITE)
LIMITS: Final = Limits(
    wall_s=120, scratch_bytes=4 * GIB, file_bytes=4 * GIB, artifact_bytes=4 * GIB
)


@dataclass(frozen=True, slots=True)
class BoxReader:
    """Git in a box, whose output is only data. Called from a thread.

    Scratch repositories are written to `place`.
    """

    runner: Runner
    place: Path

    def __call__(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        """Run a script in a scratch repository; return its output folder.

        Raises:
            GitError: it failed; with the reason.
        """
        places = [f"{BORROWED}/{number}" for number in range(len(scratch.objects))]
        scratch.borrow(places if self.is_mounted else map(str, scratch.objects))
        return trio.from_thread.run(self._read, scratch, script, arguments)

    @property
    def is_mounted(self) -> bool:
        """Return whether a box mounts outside folders; otherwise they are read directly."""
        return self.runner.placement.can.own_file_system

    async def _read(self, scratch: Scratch, script: str, arguments: Sequence[str]) -> Path:
        make = partial(self._job, scratch, script, arguments)
        try:
            completed = await self.runner.run(make, profile=READING, owner=None)
        except (RequestError, SandboxUnavailableError, OSError) as error:
            raise GitError(f"it cannot be read in a sandbox: {error}") from error
        completed.delete_spools()
        result = completed.result
        if result.status is not Status.OK:
            said = result.stderr.text.strip()[-500:] or result.message
            raise GitError(f"git cannot read it after the run: {said or result.status}")
        out = Path(tempfile.mkdtemp(prefix="out-", dir=scratch.folder.parent))
        for one in result.artifacts:
            if one.path is None:
                raise GitError(f"git cannot return {one.name}: {one.reason}")
            os.rename(one.path, out / one.name.rpartition("/")[2])
        return out

    def _job(
        self, scratch: Scratch, script: str, arguments: Sequence[str], layout: Layout
    ) -> Order:
        out = f"{layout.scratch}/out"
        shown = [(str(path), f"{BORROWED}/{n}") for n, path in enumerate(scratch.objects)]
        if not self.is_mounted:
            shown = [(str(path), str(path)) for path in (scratch.folder, *scratch.objects)]
        return Order(
            steps=(Step(("/bin/sh", "-c", script, "sh", out, *arguments), "run"),),
            cwd=layout.project if self.is_mounted else str(scratch.folder),
            env={"PATH": SYSTEM_PATH, "HOME": layout.home, "TMPDIR": layout.scratch, "LC_ALL": "C"}
            | {"GIT_CONFIG_NOSYSTEM": "1"},
            limits=LIMITS,
            artifacts=(f"{out}/*",),
            profile=READING,
            label="git: reading a repository",
            language="shell",
            substitute=os.path.relpath(scratch.folder, self.runner.placement.temporary),
            shown=tuple(shown),
            may_be_prewarmed=False,
        )


def open_place(above: Path) -> Path:
    """Make a new folder for scratch repositories that programs of boxes can enter.

    Raises:
        OSError: it cannot be made.
    """
    lock.own_folder(above)
    place = Path(tempfile.mkdtemp(prefix="repositories-", dir=above))
    place.chmod(0o755)
    return place


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
