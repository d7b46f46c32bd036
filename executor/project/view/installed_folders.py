"""Which folders below node_modules and its like were installed there: large, and not the project's.

They are not searched for secrets. What anybody moved beside them is the project's own as before,
and is searched: a folder counts as installed only where something vouches for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

# Of a repository: what git keeps by digests, and by the names of branches.
_GIT_PARTS = frozenset({"objects", "refs", "logs", "lfs", "annex", "modules"})
_DISTRIBUTION = (".dist-info", ".egg-info", ".libs", ".data")
_MANIFEST_BYTES_MAX = 64 * 1024
# Nobody can publish such a package: it is somebody's project.
_PRIVATE = re.compile(rb'"private"\s*:\s*true')


def judge(folder: str) -> Callable[[str], bool] | None:
    """Return a test whether a name in a folder is installed; None where nothing can be."""
    above, name = os.path.split(folder)
    if name == ".git":
        return _GIT_PARTS.__contains__
    if name in ("site-packages", "dist-packages"):
        return lambda entry: _is_distribution(f"{folder}/{entry}")
    is_below_modules = os.path.basename(above) == "node_modules"
    if name == ".pnpm" and is_below_modules:
        return lambda entry: os.path.isdir(f"{folder}/{entry}/node_modules")
    if name == "node_modules" or (name.startswith("@") and is_below_modules):
        return lambda entry: _is_package(f"{folder}/{entry}/package.json")
    return None


def _is_distribution(path: str) -> bool:
    return path.endswith(_DISTRIBUTION) or os.path.isfile(f"{path}/__init__.py")


def _is_package(manifest: str) -> bool:
    """Return whether a package's manifest is a plain file, and not a private one's."""
    try:
        file = os.open(manifest, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return _PRIVATE.search(os.read(file, _MANIFEST_BYTES_MAX)) is None
    except OSError:  # a folder, a FIFO nobody writes
        return False
    finally:
        os.close(file)
