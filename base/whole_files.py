"""Files that are replaced as a whole: a reader finds the old content or the new."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def replace_file(
    path: Path, content: bytes, *, mode: int = 0o600, prefix: str = "", suffix: str = ".new"
) -> None:
    """Write a file beside `path` and rename it over that. Its name starts with `prefix`.

    Raises:
        OSError: it can't be written. Nothing is left of it.
    """
    # `mkstemp` chooses a name that nobody knows beforehand, so no link is written through.
    descriptor, beside = tempfile.mkstemp(suffix, prefix or f".{path.name}.", path.parent)
    try:
        with open(descriptor, "wb") as file:
            if mode != 0o600:  # which `mkstemp` gives
                os.fchmod(descriptor, mode)
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def write_json(path: Path, value: object) -> None:
    """Replace a file by a JSON value; its folder is made where it is missing.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, json.dumps(value).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None where there is none, or it can't be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
