"""Files that are replaced as a whole: a reader finds the old content or the new."""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and these take 15 ms
    from pathlib import Path
    from typing import Any

    from base.plain_files import StrPath


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
