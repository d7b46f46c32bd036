"""Plain files: opened although a program may exchange one for another at any moment, and replaced
as a whole, so that a reader finds the old content or the new."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook's start imports this module, and none of these
    from pathlib import Path
    from typing import Any, BinaryIO, TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]


def read_plain(
    path: StrPath, bytes_max: int, root: StrPath | None = None, *, follow: bool = True
) -> bytes:
    """Read all of a regular file. If it may be a link, its target must be below `root`.

    Raises:
        OSError: it is something else, larger, elsewhere, or can't be opened.
    """
    real_root = None if root is None else os.path.realpath(root)
    with open_plain(path, real_root, follow=follow) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(errno.EFBIG, f"it is larger than {bytes_max >> 10} KiB", os.fspath(path))
    return data


def read_head(path: StrPath, bytes_max: int = 1 << 20) -> bytes:
    """Read the first bytes of a regular file.

    Raises:
        OSError: it is something else, or can't be opened.
    """
    with open_plain(path) as file:
        return file.read(bytes_max)


def open_plain(path: StrPath, root: StrPath | None = None, *, follow: bool = True) -> BinaryIO:
    """Open a regular file, below `root` if that is given, which is a real path.

    Between a check of a path and its opening a folder on the way may become a link to anywhere. So
    the open file is checked.

    Raises:
        OSError: it is something else, is elsewhere, or can't be opened.
    """
    if follow:
        _refuse_unless_plain(os.stat(path), path)  # opening alone triggers some devices
    # A FIFO must not wait for its other end, nor a terminal become ours.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags | (0 if follow else os.O_NOFOLLOW))
    try:
        _refuse_unless_plain(os.fstat(descriptor), path)
        if root is not None:
            _refuse_unless_below(os.fspath(root), descriptor, path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refuse_unless_plain(found: os.stat_result, path: StrPath) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


def _refuse_unless_below(root: str, descriptor: int, path: StrPath) -> None:
    real = os.readlink(f"/proc/self/fd/{descriptor}")
    if not real.startswith(root.rstrip("/") + "/"):
        raise OSError(errno.EXDEV, f"a link points outside {root}, to {real}", os.fspath(path))


def replace_file(
    path: StrPath, content: bytes, *, mode: int = 0o600, prefix: str = "", suffix: str = ".new"
) -> None:
    """Write a file next to `path` and rename it over that. Its name starts with `prefix`.

    Raises:
        OSError: it can't be written. No part of it is left.
    """
    folder, name = os.path.split(path)
    # Nobody can predict the name, and it is a new file: no link is written through.
    beside = os.path.join(folder, f"{prefix or f'.{name}.'}{os.urandom(8).hex()}{suffix}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            if mode != 0o600:  # which it has
                os.fchmod(descriptor, mode)
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def new_file_mode() -> int:
    """Return the rights that a new file of the user gets."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def write_json(path: Path, value: object) -> None:
    """Replace a file by a JSON value; its folder is created if missing.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, json.dumps(value).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; return None if it is missing or unreadable."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
