"""Transfer of a project: to a container as an archive, back as a bundle of a run's changes.

For engines that do not share this machine's file systems: remote ones, rootless ones, those in a
virtual machine.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from base.secrets import is_secret_path
from executor.engine.unpacking import take_out, unpack
from executor.model import GIB, RequestError
from executor.project.view.search import ProjectSearch
from executor.project.view.tree import open_tree, walk
from executor.project.view.work_copy import COPY_BYTES_MAX, COPY_ENTRIES_MAX

NAMING = ("objects/info/alternates",)  # texts of a substitute that name what is shown beside it
HINT = "use a local engine, or tier A: see `context-mode doctor`"


def pack(search: ProjectSearch, archive: Path) -> None:
    """Write all of a project but its secrets into an archive.

    Raises:
        RequestError: it is too large to travel for every run.
        OSError: it can't be read, or the archive not be written.
    """
    total = entries = 0
    with open_tree(search.project) as project, tarfile.open(archive, "w") as tar:
        for path, descriptor, entry in _walk_shown(project.top, search):
            info = entry.stat(follow_symlinks=False)
            if not _travels(entry.name, info):
                continue
            entries += 1
            total += info.st_size
            if entries > COPY_ENTRIES_MAX or total > COPY_BYTES_MAX:
                raise RequestError(
                    "the project is too large to travel into a container: over "
                    f"{COPY_ENTRIES_MAX:,} entries or {COPY_BYTES_MAX // GIB} GiB",
                    HINT,
                )
            _add(tar, path, descriptor, info)


def pack_instead(folder: Path, shown: Sequence[tuple[str, str]], project: str) -> bytes:
    """Pack a folder that is shown instead of the project, with additional paths that it names.

    These are below the project there: texts in `folder` are rewritten to those paths.

    Raises:
        OSError: a file cannot be read.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            name, info = str(path.relative_to(folder)), tar.gettarinfo(path)
            info.name = name
            text = path.read_bytes() if info.isreg() else b""
            for _, target in shown if name in NAMING else ():
                text = text.replace(target.encode(), f"{project}{target}".encode())
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
        for source, target in shown:
            tar.add(source, target.lstrip("/"))
    return packed.getvalue()


def _walk_shown(top: int, search: ProjectSearch) -> Iterator[tuple[str, int, os.DirEntry[str]]]:
    """Yield every entry that is not secret, reached through no link: its path, and the descriptor
    of its folder."""
    secrets = {*search.look().secrets}
    for prefix, descriptor, entries in walk(top, lambda path: path not in secrets, lambda _: None):
        for entry in sorted(entries, key=lambda each: each.name):
            path = prefix + entry.name
            if path not in secrets:
                yield path, descriptor, entry


def _travels(name: str, info: os.stat_result) -> bool:
    if stat.S_ISREG(info.st_mode):
        return not is_secret_path(name)
    return stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)


def _add(tar: tarfile.TarFile, path: str, descriptor: int, info: os.stat_result) -> None:
    name = os.path.basename(path)
    if not stat.S_ISREG(info.st_mode):
        tar.addfile(tar.gettarinfo(f"/proc/self/fd/{descriptor}/{name}", path))
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        opened = os.open(name, flags, dir_fd=descriptor)
    except PermissionError:  # closed to this user, and so to a program of his
        return
    with open(opened, "rb") as file:
        tar.addfile(tar.gettarinfo(arcname=path, fileobj=file), file)


def bring_back(archive: int, changed: list[tuple[str, str, int | None]], copy: Path) -> None:
    """Apply a run's changes to a copy of the project: `changed` and their contents.

    A program chose the names: a name that points outside the copy is refused.

    Raises:
        SandboxError: a name does.
        OSError: the copy cannot be written.
    """
    for path, change, _ in changed:
        if change == "deleted":
            take_out(copy, path.rstrip("/"))
    with open(os.dup(archive), "rb") as file:
        unpack(file, copy, as_is=True)
