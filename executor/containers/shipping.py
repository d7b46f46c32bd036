"""A project that travels: into a container as an archive, and back as what a run changed.

For engines that do not share this machine's file systems: remote ones, rootless ones, those in a
virtual machine.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from pathlib import Path, PurePath

from executor.errors import RequestError, SandboxError
from executor.model import MIB
from executor.project_search import ProjectSearch
from executor.work_copy import BYTES_MAX, ENTRIES_MAX
from policy.secrets import is_secret_name

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
                        f"{ENTRIES_MAX:,} entries or {BYTES_MAX // MIB} MiB",
                        HINT,
                    )
                tar.add(full, arcname=os.path.relpath(full, project), recursive=False)


def _travels(full: str, name: str, info: os.stat_result, secrets: set[str]) -> bool:
    if stat.S_ISREG(info.st_mode):
        return full not in secrets and not is_secret_name(name)
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
            _take_out(_within(copy, path))
    with open(os.dup(archive), "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for member in tar:
            target = _within(copy, member.name)
            if member.isdir() and target.is_dir() and not target.is_symlink():
                continue
            _take_out(target)
            if member.isdir():
                target.mkdir()
            elif member.issym():
                target.symlink_to(member.linkname)
            elif member.isreg() and (content := tar.extractfile(member)) is not None:
                with open(target, "xb") as out:
                    shutil.copyfileobj(content, out)
                target.chmod(member.mode & 0o777)


def _within(copy: Path, name: str) -> Path:
    """The place of a name below the copy.

    Raises:
        SandboxError: a link or dots would lead elsewhere.
    """
    pure = PurePath(name.rstrip("/"))
    target = copy / pure
    inside = not pure.is_absolute() and ".." not in pure.parts and pure.parts
    if not inside or os.path.realpath(target.parent) != str(target.parent):
        raise SandboxError(f"a changed file's name leads out of the project: {name!r}")
    return target


def _take_out(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
