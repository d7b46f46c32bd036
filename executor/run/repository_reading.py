"""Reading of a run's repository by git in a box, whose output is only data."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from executor.engine.box import SYSTEM_PATH, Layout, Order
from executor.instance import lock
from executor.model import GIB, Limits, RequestError, SandboxUnavailableError, Status
from executor.project.git.host import GitError
from executor.project.git.repository_export import Scratch
from executor.request import Profile, ProjectAccess
from runtimes import Step

if TYPE_CHECKING:
    from executor.run.runner import Runner

BORROWED: Final = "/borrowed-objects"
"""The place of the host's objects in a box that has its own file system."""
READING: Final = Profile("repository", ProjectAccess.COPY_ON_WRITE)
LIMITS: Final = Limits(
    wall_s=120, scratch_bytes=4 * GIB, file_bytes=4 * GIB, artifact_bytes=4 * GIB
)


@dataclass(frozen=True, slots=True)
class BoxReader:
    """Git in a box, called from a thread; scratch repositories are written to `place`."""

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
            completed = await self.runner.run(make, profile=READING, waits=False)
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
