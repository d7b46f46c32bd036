"""A project's files as one stream of bytes: how they come into a container, and changes go back."""

from __future__ import annotations

import os
import socket
import stat
import tarfile
from collections.abc import Iterable, Sequence

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
    fd = os.memfd_create("changes", os.MFD_CLOEXEC)
    with open(os.dup(fd), "wb") as file:
        pack(file.fileno(), folder, (path.rstrip("/") for path, _, _ in changed))
    os.lseek(fd, 0, os.SEEK_SET)
    send(control, {"changes": len(changed)}, [fd])
    os.close(fd)


def pack(target: int, folder: str, paths: Iterable[str]) -> None:
    """Regular files, folders and links at these paths below `folder`; a missing one is left out."""
    with open(os.dup(target), "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
        for path in paths:
            full = f"{folder}/{path}"
            try:
                mode = os.lstat(full).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                tar.add(full, arcname=path, recursive=False)
