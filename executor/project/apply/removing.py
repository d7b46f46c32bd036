"""Taking away an entry and all below it, by descriptors, however deep it goes."""

from __future__ import annotations

import os

from executor.project.view.walking import FOLDER_FLAGS


def remove(name: str, folder: int) -> None:
    """Remove an entry of an open folder, if it is there, and follow no link.

    Raises:
        OSError: this user may not.
    """
    try:
        os.unlink(name, dir_fd=folder)
        return
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        pass
    stack = [_open_empty(name, folder)]
    try:
        while stack:
            name, parent, descriptor, inner = stack[-1]
            if inner:
                stack.append(_open_empty(inner.pop(), descriptor))
                continue
            os.close(descriptor)
            stack.pop()
            os.rmdir(name, dir_fd=parent)
    finally:
        for _, _, descriptor, _ in stack:
            os.close(descriptor)


def _open_empty(name: str, parent: int) -> tuple[str, int, int, list[str]]:
    """A folder without its files; the names of those in it are given."""
    os.chmod(name, 0o700, dir_fd=parent)  # it may be closed to this user himself
    descriptor = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    with os.scandir(descriptor) as scan:
        entries = list(scan)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=descriptor)
    inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return name, parent, descriptor, inner
