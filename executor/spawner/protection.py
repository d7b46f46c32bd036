"""What no mount can protect in a live project: what a run made there is undone."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence

State = dict[str, str | None]  # path -> target of the symbolic link there, None where is nothing


def remember(project: str, paths: Sequence[str]) -> State:
    """Those protected paths that no mount can protect: missing ones and symbolic links."""
    state: State = {}
    for path in paths:
        full = f"{project}/{path}"
        if os.path.islink(full):
            state[path] = os.readlink(full)
        elif not os.path.lexists(full):
            state[path] = None
    return state


def restore(project: str, state: State) -> list[str]:
    """Put every one back as it was; those that had been touched.

    All processes of the run are dead by now, so nothing races with this.
    """
    undone = []
    for path, link in state.items():
        full = f"{project}/{path}"
        if _now(full) == (link is not None, link):
            continue
        undone.append(path)
        take_out(project, [path])
        if link is not None:
            os.symlink(link, full)
    return undone


def take_out(project: str, paths: Sequence[str]) -> None:
    """Remove what a run made."""
    for path in paths:
        full = f"{project}/{path}"
        if os.path.isdir(full) and not os.path.islink(full):
            _unlock(full)
            shutil.rmtree(full, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(full)


def _unlock(top: str) -> None:
    """Open the folders that a program closed against whoever takes them out."""
    with contextlib.suppress(OSError):
        os.chmod(top, 0o700)
        for folder, inner, _ in os.walk(top):
            for name in inner:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)


def _now(full: str) -> tuple[bool, str | None]:
    exists = os.path.lexists(full)
    return exists, os.readlink(full) if os.path.islink(full) else None
