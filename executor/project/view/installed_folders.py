"""Which folders below node_modules and its like were installed there: large, and not the project's.

They are not searched for secrets. What anybody moved beside them is the project's own as before,
and is searched: a folder counts as installed only where something vouches for it.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection

IsInstalled = Callable[[str], bool]

# Of a repository: what git keeps by digests, and by the names of branches.
_GIT_PARTS = frozenset({"objects", "refs", "logs", "lfs", "annex", "modules"})
_DISTRIBUTION = (".dist-info", ".egg-info", ".libs", ".data")
_MANIFEST_BYTES_MAX = 64 * 1024
_LOCK_BYTES_MAX = 64 * 1024 * 1024
# npm's record of what it has put here.
_LOCK = ".package-lock.json"
_LOCKED = re.compile(rb'^ {4}"node_modules/([^"\\]{1,428})": \{', re.MULTILINE)
# Nobody can publish such a package: it is somebody's project.
_PRIVATE = re.compile(rb'"private"\s*:\s*true')


def judge(folder: str) -> IsInstalled | None:
    """A test whether a name in a folder is installed; None where nothing can be."""
    above, name = os.path.split(folder)
    if name == ".git":
        return _GIT_PARTS.__contains__
    if name in ("site-packages", "dist-packages"):
        return lambda entry: _is_distribution(f"{folder}/{entry}")
    if name == "node_modules":
        locked = _read_lock_file(folder)
        return lambda entry: _is_package(f"{folder}/{entry}", entry, locked)
    if os.path.basename(above) == "node_modules":
        if name == ".pnpm":
            return lambda entry: os.path.isdir(f"{folder}/{entry}/node_modules")
        if name.startswith("@"):
            locked = _read_lock_file(above)
            return lambda entry: _is_package(f"{folder}/{entry}", f"{name}/{entry}", locked)
    return None


def _is_distribution(path: str) -> bool:
    return path.endswith(_DISTRIBUTION) or os.path.isfile(f"{path}/__init__.py")


def _is_package(path: str, name: str, locked: Collection[bytes]) -> bool:
    if os.fsencode(name) in locked:
        return True
    manifest = _content(f"{path}/package.json", _MANIFEST_BYTES_MAX)
    return manifest is not None and _PRIVATE.search(manifest) is None


def _read_lock_file(modules: str) -> frozenset[bytes]:
    """The packages that npm says it has put into this node_modules."""
    path = f"{modules}/{_LOCK}"
    try:
        info = os.lstat(path)
    except OSError:
        return frozenset()
    return _names_in(path, (info.st_dev, info.st_ino, info.st_ctime_ns))


@functools.lru_cache(maxsize=8)
def _names_in(lock: str, _state: tuple[int, int, int]) -> frozenset[bytes]:
    """What a record holds; it is read once for a node_modules and all scopes in it."""
    content = _content(lock, _LOCK_BYTES_MAX) or b""
    return frozenset(match[1] for match in _LOCKED.finditer(content))


def _content(path: str, bytes_max: int) -> bytes | None:
    """The beginning of a plain file; None if there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(file, "rb") as content:
        try:
            return content.read(bytes_max)
        except OSError:  # a folder, a FIFO nobody writes
            return None
