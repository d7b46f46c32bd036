"""A project's files as one stream of bytes: how they come into a container, and changes go back."""

from __future__ import annotations

import os
import socket
import stat
import tarfile
from collections.abc import Sequence

from executor.spawner import bundle
from executor.spawner.kernel import StepError, open_absolute, open_beneath
from executor.spawner.view import FOLDER
from executor.spawner.wire import send


def unpack(source: int, folder: str) -> None:
    """Put an archive that the server made into `folder`.

    Raises:
        OSError: there is no room for it.
    """
    with open(os.dup(source), "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for member in tar:
            tar.extract(member, folder, set_attrs=True, numeric_owner=False)


def hand_over(
    control: socket.socket, folder: str, changed: Sequence[tuple[str, str, object]]
) -> None:
    """What a run left at the changed paths, packed: nothing of it is alive that could write on."""
    top = open_absolute(folder, FOLDER)
    try:
        paths = (path.rstrip("/") for path, _, _ in changed)
        fd = bundle.pack(top, (path for path in paths if _is_plain(top, path)))
    finally:
        os.close(top)
    send(control, {"changes": len(changed)}, [fd])
    os.close(fd)


def _is_plain(top: int, path: str) -> bool:
    """Return whether a file, a folder or a link is there."""
    try:
        entry = open_beneath(top, path, bundle.ITSELF)
    except StepError:
        return False
    try:
        mode = os.fstat(entry).st_mode
    finally:
        os.close(entry)
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
