"""What images are called: by a digest of all that goes into them.

An image is current if one of its name is there; others of its repository are outdated. The prefix
`localhost/` keeps an engine from ever looking for them at a public registry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from images.groups import Group

PREFIX: Final = "localhost/context-mode"
LABEL: Final = "context-mode.image"
"""Every image of ours bears it, and nothing else does: its value is the group's name, or `base`."""
BASE_LABEL: Final = "context-mode.base"
"""What an image was built on."""
STAGE_LABEL: Final = "context-mode.stage"
"""What a build leaves behind bears it, with the build's own id, so that it can take it away."""

_HERE: Final = Path(__file__).parent
_ROOMS: Final = _HERE.parent
PROGRAM: Final = {
    "agent": _ROOMS / "executor" / "containers" / "agent",
    "spawner": _ROOMS / "executor" / "spawner",
    "runtimes": _ROOMS / "runtimes",
}
"""Folders of this program that every image holds below /opt/ctxmode, by their name there."""
IMAGE_DOCKERFILE: Final = _HERE / "dockerfiles" / "image.Dockerfile"
SCRIPTS: Final = _HERE / "scripts"

_DIGITS = 16


def repository(group: Group) -> str:
    """What all images of a group are called, whichever their content."""
    return f"{PREFIX}/{group.name}"


@cache
def reference(group: Group) -> str:
    """The name of the group's current image: its repository, and what it holds as its tag."""
    program = [path for folder in PROGRAM.values() for path in source_files(folder)]
    files = [group.dockerfile, IMAGE_DOCKERFILE, *source_files(SCRIPTS), *program]
    return f"{repository(group)}:{digest(_ROOMS, files)}"


@cache
def toolchains_reference(group: Group) -> str:
    """The name of what the current image is built on: its toolchains, without this program."""
    files = [group.dockerfile, *source_files(SCRIPTS)]
    return f"{repository(group)}-toolchains:{digest(_ROOMS, files)}"


def source_files(folder: Path) -> Iterator[Path]:
    """The files of a folder that belong to this program, in an order of their own."""
    for path in sorted(folder.rglob("*")):
        hidden = any(p.startswith((".", "__pycache__")) for p in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def digest(root: Path, files: Iterable[Path]) -> str:
    """Of contents, and of names below a root: the same wherever the program is installed."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:_DIGITS]
