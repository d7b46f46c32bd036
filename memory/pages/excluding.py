"""Keeps buffers out of the user's repository, by a line of its own file of exclusions."""

from __future__ import annotations

import os

from base.plain_files import open_plain, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook imports this module
    from base.plain_files import StrPath

PATTERN = "**/.contexo/raw/sessions/_pending/"
BYTES_MAX = 1 << 20


def exclude_from_git(drafts: StrPath) -> bool:
    """Name the buffers in `info/exclude` of the repository that a folder of drafts lies in; tell
    whether they stand there now. Of a worktree the file is the main repository's.

    Raises:
        OSError: the file is a link, no plain file, or cannot be written.
    """
    common = _find_common(os.path.abspath(drafts))
    if not common:
        return False
    info = os.path.join(common, "info")
    if os.path.islink(info):
        return False
    os.makedirs(info, exist_ok=True)
    path = os.path.join(info, "exclude")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    try:
        with open_plain(path, follow=False) as file:
            there = file.read(BYTES_MAX)
        if PATTERN.encode() not in there.splitlines():
            begin = b"" if not there or there.endswith(b"\n") else b"\n"
            os.write(descriptor, begin + PATTERN.encode() + b"\n")
    finally:
        os.close(descriptor)
    return True


def _find_common(drafts: str) -> str:
    """Find the folder of the repository that has what its worktrees share; empty if none."""
    folder = os.path.dirname(drafts)
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.isdir(entry):
            return entry if _is_repository(entry) else ""
        if os.path.isfile(entry):
            return _follow(folder, entry)
        if folder == (folder := os.path.dirname(folder)):
            return ""


def _follow(folder: str, entry: str) -> str:
    """Follow a worktree's or a submodule's file to its repository."""
    try:
        said = read_plain(entry, 4096).decode().removeprefix("gitdir:").strip()
        own = os.path.join(folder, said)
        common = os.path.join(own, "commondir")
        is_shared = os.path.exists(common)
        found = os.path.join(own, read_plain(common, 4096).decode().strip()) if is_shared else own
        return found if _is_repository(found) else ""
    except (OSError, ValueError):
        return ""


def _is_repository(folder: str) -> bool:
    head, objects = os.path.join(folder, "HEAD"), os.path.join(folder, "objects")
    return os.path.isfile(head) and os.path.isdir(objects)
