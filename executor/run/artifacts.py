"""Copies of the files that a run handed back, under names that are safe on the host."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from executor.model import Artifact, readable
from executor.spawner.messages import ArtifactsHandedOver

NAME_CHARACTERS_MAX = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def store(
    handed_over: ArtifactsHandedOver, fds: Sequence[int], folder: Path
) -> tuple[Artifact, ...]:
    """Copy every open file into `folder`; closes the descriptors.

    Raises:
        OSError: the folder can't be written.
    """
    artifacts = []
    try:
        if fds:
            folder.mkdir(mode=0o700)
        for number, ((name, size), fd) in enumerate(
            zip(handed_over["artifacts"], fds, strict=True), 1
        ):
            target = folder / f"{number:02d}-{safe_name(name)}"
            copied = _copy(fd, target, size)
            artifacts.append(Artifact(readable(name), copied, str(target)))
    finally:
        for fd in fds:
            os.close(fd)
    skipped = [Artifact(readable(name), reason=why) for name, why in handed_over["skipped"]]
    return (*artifacts, *skipped)


def safe_name(name: str) -> str:
    """The last part of a name that a program chose, as no shell or file system minds it."""
    safe = _UNSAFE.sub("_", os.path.basename(name))[-NAME_CHARACTERS_MAX:]
    if not safe.strip("."):  # nothing, this folder or the one above
        return "file"
    return f"_{safe[1:]}" if safe.startswith("-") else safe


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _copy(source: int, target: Path, size: int) -> int:
    """At most `size` bytes: the size that was allowed, should the file have grown since."""
    copied = 0
    with open(target, "xb", opener=_private_opener) as out:
        while copied < size:
            sent = os.sendfile(out.fileno(), source, copied, min(size - copied, 1 << 20))
            if sent == 0:
                break
            copied += sent
    return copied
