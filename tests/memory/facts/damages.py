"""Ways in which a file of facts is damaged or lost."""

from __future__ import annotations

import os
from pathlib import Path


def overwrite_head(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def overwrite_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 8192))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def remove(path: Path) -> None:
    path.unlink()


DAMAGES = (overwrite_head, overwrite_middle, truncate, empty, remove)
