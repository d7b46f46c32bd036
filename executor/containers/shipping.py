"""A project that travels: into a container as an archive, and back as what a run changed.

For engines that do not share this machine's file systems: remote ones, rootless ones, those in a
virtual machine.
"""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

from executor.errors import RequestError
from executor.model import GIB
from executor.project_search import ProjectSearch
from executor.unpacking import take_out, unpack, within
from executor.work_copy import BYTES_MAX, ENTRIES_MAX
from policy.secrets import is_secret_path

HINT = "use a local engine, or tier A: see `context-mode doctor`"


def pack(search: ProjectSearch, archive: Path) -> None:
    """Write all of a project but its secrets into an archive.

    Raises:
        RequestError: it is too large to travel for every run.
        OSError: it can't be read, or the archive not be written.
    """
    project, secrets = search.project, set(search.secrets())
    total = entries = 0
    with tarfile.open(archive, "w") as tar:
        for folder, folders, files in os.walk(project):
            folders[:] = sorted(n for n in folders if os.path.join(folder, n) not in secrets)
            for name in [*folders, *sorted(files)]:
                full = os.path.join(folder, name)
                info = os.lstat(full)
                if not _travels(full, name, info, secrets):
                    continue
                entries += 1
                total += info.st_size
                if entries > ENTRIES_MAX or total > BYTES_MAX:
                    raise RequestError(
                        "the project is too large to travel into a container: over "
                        f"{ENTRIES_MAX:,} entries or {BYTES_MAX // GIB} GiB",
                        HINT,
                    )
                tar.add(full, arcname=os.path.relpath(full, project), recursive=False)


def _travels(full: str, name: str, info: os.stat_result, secrets: set[str]) -> bool:
    if stat.S_ISREG(info.st_mode):
        return full not in secrets and not is_secret_path(name)
    return stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)


def bring_back(archive: int, changed: list[tuple[str, str, int | None]], copy: Path) -> None:
    """Bring a copy of the project to what a run has made of it: `changed` and their contents.

    The names were chosen by a program: none leads out of the copy.

    Raises:
        SandboxError: one would have.
        OSError: the copy can't be written.
    """
    for path, change, _ in changed:
        if change == "deleted":
            take_out(within(copy, path))
    with open(os.dup(archive), "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        unpack(tar, copy)
