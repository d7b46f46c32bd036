"""A copy-on-write view of the project: an overlay, whose upper layer holds all that a run wrote.

The upper layers lie in a room of their own: a sized tmpfs, or a folder on disk that the server has
made. A session's view can be renewed: a new overlay is mounted over the earlier one, so that what
the host has replaced since is seen. What is open goes on in the earlier one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import stand_ins
from .kernel import (
    MS_NODEV,
    MS_NOSUID,
    READ_ONLY,
    StepError,
    attach,
    detach,
    mount,
    open_tree,
    set_attributes,
)

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Where the layers are while an overlay of them is mounted; at all other times these are empty.
LOWER, ROOM = "/.lower", "/.room"
# An option string is a page at most, and a layer takes some ten bytes of it.
LAYERS_MAX = 200
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
PROBE = "user.overlay.probe"


@dataclass(slots=True)
class View:
    """The overlay that is mounted at `target`."""

    target: str
    lower: int  # a detached mount
    room: int  # a detached mount
    # Names in the room of the upper layers below the present one, the newest first.
    layers: list[str] = field(default_factory=list)
    number: int = 0
    upper: int = -1
    secrets: Sequence[str] = ()
    stood_in: frozenset[str] = frozenset()  # `secrets` hidden by a layer just above the project

    @property
    def upper_name(self) -> str:
        return f"{self.number}/upper"

    def mount(self, root: str = "") -> None:
        """Mount the overlay with a new upper layer.

        Raises:
            StepError, OSError: this kernel or the file system of the room can't.
        """
        below, room = root + LOWER, root + ROOM
        # The options name layers by path. Once mounted, nothing else of the cell reaches them.
        with _attach(self, below, room):
            os.makedirs(f"{room}/{self.upper_name}", exist_ok=True)
            os.makedirs(f"{room}/{self.number}/work", exist_ok=True)
            if not self.number:
                _probe(f"{room}/{self.upper_name}")
            # Before the mount: an overlay is undefined whose layers are changed beneath it.
            _take_on(below, f"{room}/{self.upper_name}")
            layers = [*self.layers, *self._stand_ins(below, room)]
            lowers = ":".join([*(f"{room}/{name}" for name in layers), below])
            # `userxattr` is of Linux 5.11: a user namespace can set no `trusted.` attributes, by
            # which an overlay marks folders that were made again.
            options = (
                f"lowerdir={lowers},upperdir={room}/{self.upper_name},"
                f"workdir={room}/{self.number}/work,userxattr"
            )
            mount("overlay", root + self.target, "overlay", MS_NOSUID | MS_NODEV, options)
            upper = os.open(f"{room}/{self.upper_name}", FOLDER)
        if self.upper >= 0:
            os.close(self.upper)
        self.upper = upper

    def _stand_ins(self, below: str, room: str) -> Iterator[str]:
        """The layer that has them, if any are needed."""
        if not self.secrets:
            return
        layer = f"{room}/{stand_ins.NAME}"
        os.makedirs(layer, exist_ok=True)
        project = os.open(below, FOLDER)
        try:
            self.stood_in = stand_ins.stand_in(project, layer, self.secrets)
        finally:
            os.close(project)
        if self.stood_in:
            yield stand_ins.NAME

    def stood_in_at(self, root: str = "") -> frozenset[str]:
        """The places of the secrets that need no cover."""
        return frozenset(f"{root}{self.target}/{path}" for path in self.stood_in)

    def renew(self, *, keep: bool) -> None:
        """Mount a new overlay over this one, by which the host's present files are seen.

        What was written so far stays if it is to `keep`.

        Raises:
            StepError, OSError: it can't be mounted.
        """
        if keep and os.listdir(self.upper):
            if len(self.layers) >= LAYERS_MAX:
                raise StepError("the project changed too often for one session")
            self.layers.insert(0, self.upper_name)
        self.number += 1
        self.mount()


@contextlib.contextmanager
def _attach(view: View, below: str, room: str) -> Iterator[None]:
    """Both detached mounts in the tree for as long as the block lasts."""
    attach(view.lower, below)
    try:
        attach(view.room, room)
        try:
            yield
        finally:
            view.room = open_tree(room, recursive=False)
            detach(room)
    finally:
        view.lower = open_tree(below)
        detach(below)


def read_only(tree: int) -> int:
    """The same detached mount, read-only."""
    set_attributes(tree, READ_ONLY)
    return tree


def is_opaque(folder: int | str) -> bool:
    """Whether nothing of the layers below shows through a folder of an upper layer."""
    for name in OPAQUE:
        with contextlib.suppress(OSError):
            return os.getxattr(folder, name) == b"y"
    return False


def _probe(upper: str) -> None:
    """Without attributes of its user an overlay could not hide a folder that was made anew.

    Raises:
        StepError: the file system has none.
    """
    try:
        os.setxattr(upper, PROBE, b"y")
        os.removexattr(upper, PROBE)
    except OSError as error:
        raise StepError(f"attributes of files: {error.strerror}") from error


def _take_on(source: str, target: str) -> None:
    """The project's own folder is shown with the mode and times of the upper layer's."""
    info = os.stat(source)
    os.chmod(target, stat.S_IMODE(info.st_mode))
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
