"""The folders of a box, as the program in it sees them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from executor.engine import rootfs
from executor.instance.removal import remove

if TYPE_CHECKING:
    from executor.project.view.work_copy import WorkCopy
    from runtimes import Candidate


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a cell's own folders are, as the program sees them."""

    job: str = rootfs.JOB
    scratch: str = rootfs.SCRATCH
    home: str = rootfs.HOME
    project: str = ""
    host_folder: str | None = None
    room: str = ""  # on the host, where a view's upper layers lie that are to be committed
    work_copy: WorkCopy | None = None
    is_in_place: bool = False  # the copy is shown where the project lies

    def inside(self, path: str) -> str:
        """Where the program finds a path of the project."""
        if self.work_copy is None or self.is_in_place:
            return path
        return os.path.normpath(self.work_copy.folder / os.path.relpath(path, self.project))

    def place(self, candidate: Candidate) -> Candidate:
        """Return a toolchain as the program finds it: one of the project may lie in its copy."""
        top = f"{self.project.rstrip('/')}/"
        return candidate._replace(
            paths={
                role: self.inside(path) if path.startswith(top) else path
                for role, path in candidate.paths.items()
            }
        )

    def remove(self) -> None:
        """Take what was made on the host away again, whatever a program did to it."""
        if self.host_folder:
            remove(Path(self.host_folder))
