"""Refusals that only a program's error output speaks of, held against what its box showed it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from executor.engine import rootfs
from executor.run.refusals.error_texts import ErrorText, find_errors
from executor.run.refusals.sources import SOURCES, Found

HOST_PATHS_MAX = 10  # of which it is told in one run that the host has them
NAMED_MAX = 2  # of a line
WRITE_ERRORS = (errno.EACCES, errno.EROFS, errno.EPERM)
# What runs may write wherever they are.
SCRATCH_FOLDERS = (rootfs.SCRATCH, "/var/tmp", rootfs.SHARED_MEMORY, "/dev")
PROC_FOLDERS = ("/proc", "/sys")
# A limit that an error names.
ERROR_LIMITS = {
    errno.EMFILE: "open_files",
    errno.ENOSPC: "scratch_bytes",
    errno.EFBIG: "file_bytes",
    errno.ENOMEM: "memory_bytes",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a box showed a program, for judging the paths that its errors name.

    Paths of the project are as the box has them. `find_secrets` gives what is covered,
    relative to the project. `host_has` says whether the host has a path that boxes do not show.
    """

    project: str
    cwd: str
    home: str
    scratch: str
    is_writable: bool  # whether the project is the program's to change
    visible: tuple[str, ...]  # what else of the host is shown, where it lies
    limits_memory: bool  # whether an allocation fails at the limit, in place of a kill
    host_home: str
    host_has: Callable[[str], bool]
    find_secrets: Callable[[], tuple[str, ...]]
    denies: Callable[[str], bool]  # whether a path is a secret, or a rule keeps it from being read


def of_errors(text: str, shown: Shown) -> Iterator[Found]:
    """The refusals that an error output speaks of, in its order, doubles included."""
    asked: set[str] = set()
    for found in find_errors(text):
        if one := _judge(found, shown, asked):
            yield one


def _judge(found: ErrorText, shown: Shown, asked: set[str]) -> Found | None:
    if found.error in ERROR_LIMITS:
        is_own = "/dev/full" in found.candidates  # which has never room
        if is_own or (found.error == errno.ENOMEM and not shown.limits_memory):
            return None
        return SOURCES["met limit"].found(ERROR_LIMITS[found.error])
    if found.error == errno.ENETUNREACH:
        return SOURCES["unreachable"].found("the network")
    paths = [_absolute(text, shown) for text in found.candidates]
    if found.error in (*WRITE_ERRORS, errno.ENOENT):
        for path in paths:
            if secret := _secret(path, shown):
                return SOURCES["secret"].found(secret)
    named = [
        path
        for path, text in zip(paths, found.candidates, strict=True)
        if text.startswith(("/", "~/"))
    ]
    if found.error == errno.ENOENT:
        likeliest = named[:NAMED_MAX]
        return next(filter(None, (_absent(path, shown, asked) for path in likeliest)), None)
    return _unwritable(found.error, named, paths, shown)


def _unwritable(error: int, named: list[str], paths: list[str], shown: Shown) -> Found | None:
    """What a refused write was for; None where the run, or the file itself, forbade it."""
    is_read_only = error == errno.EROFS
    for path in named:
        if _is_below(path, shown.project):
            is_own = shown.is_writable
            return None if is_own else SOURCES["read-only project"].found(path)
        if _is_below(path, *SCRATCH_FOLDERS, shown.scratch, shown.home):
            return None
        if error != errno.EPERM or _is_below(path, *PROC_FOLDERS):
            return SOURCES["read-only"].found(path)
    if is_read_only:
        source = SOURCES["read-only" if shown.is_writable else "read-only project"]
        return source.found(paths[0] if paths else "a file")
    if error == errno.EPERM:
        return SOURCES["privilege"].found(named[0] if named else "a privileged operation")
    return None


def _absent(path: str, shown: Shown, asked: set[str]) -> Found | None:
    """Whether the host has what a box did not show; asked of few paths a run, never of secrets."""
    own = (shown.project, shown.scratch, *SCRATCH_FOLDERS, *PROC_FOLDERS)
    if _is_below(path, *own, *shown.visible):
        return None
    target = path
    if _is_below(path, shown.home):
        target = f"~{path[len(shown.home) :]}"
        path = f"{shown.host_home}{path[len(shown.home) :]}"
    if path == "/" or (path not in asked and len(asked) >= HOST_PATHS_MAX):
        return None
    asked.add(path)
    if shown.denies(path) or not shown.host_has(path):
        return None
    return SOURCES["absent"].found(target)


def _secret(path: str, shown: Shown) -> str:
    """The covered path at or above this one, relative to the project; empty if none is."""
    below = path.removeprefix(f"{shown.project}/") if _is_below(path, shown.project) else ""
    if not below:
        return ""
    covers = (
        name for name in shown.find_secrets() if below == name or below.startswith(f"{name}/")
    )
    return next(covers, "")


def _absolute(text: str, shown: Shown) -> str:
    if text.startswith("~/"):
        text = f"{shown.home}{text[1:]}"
    return os.path.normpath(os.path.join(shown.cwd, text))


def _is_below(path: str, *folders: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
