"""A copy-on-write view of the project: an overlay whose upper layer has all that a run wrote.

The upper layers are in a separate room: a sized tmpfs, or a folder on disk that the server made. A
session's view can be renewed: a new overlay is mounted over the earlier one, to show the files that
the host replaced since. Open files stay in the earlier one.
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
# Where the layers are while an overlay of them is being mounted; otherwise these are empty.
LOWER, ROOM = "/.lower", "/.room"
# An option string is up to a page long, and a layer takes about ten bytes of it.
LAYERS_MAX = 200
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
PROBE = "user.overlay.probe"


@dataclass(slots=True)
class View:
    """The overlay that is mounted at `target`."""

    target: str
    lower: int  # a detached mount
    room: int  # a detached mount
    # Names of the upper layers below the present one, in the room; the newest first.
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
        # The options name layers by path. Once mounted, no other path of the cell reaches them.
        with _attach(self, below, room):
            os.makedirs(f"{room}/{self.upper_name}", exist_ok=True)
            os.makedirs(f"{room}/{self.number}/work", exist_ok=True)
            # Once, on the first layer: without these attributes the mount succeeds, and a folder
            # that was deleted and made again would show its old entries.
            if not self.number:
                _probe(f"{room}/{self.upper_name}")
            # Before the mount: changing the layers of a mounted overlay is undefined.
            _take_on(below, f"{room}/{self.upper_name}")
            layers = [*self.layers, *self._stand_ins(below, room)]
            lowers = ":".join([*(f"{room}/{name}" for name in layers), below])
            # `userxattr` needs Linux 5.11: a user namespace can't set the `trusted.` attributes by
            # which an overlay marks folders that were created again.
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
        """Make the layer of stand-ins, if any are needed, and yield its name."""
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
        """Return the places of the secrets that need no cover."""
        return frozenset(f"{root}{self.target}/{path}" for path in self.stood_in)

    def renew(self, *, keep: bool) -> None:
        """Mount a new overlay over this one, to show the host's present files.

        With `keep`, everything written so far stays.

        Raises:
            StepError, OSError: it can't be mounted.
        """
        # An upper layer that is in use may not change below another overlay: it becomes a lower
        # layer of the new one, which writes to a fresh upper.
        if keep and os.listdir(self.upper):
            if len(self.layers) >= LAYERS_MAX:
                raise StepError("the project changed too often during one session")
            self.layers.insert(0, self.upper_name)
        self.number += 1
        self.mount()


@contextlib.contextmanager
def _attach(view: View, below: str, room: str) -> Iterator[None]:
    """Attach both detached mounts for as long as the block lasts."""
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
    """Make a detached mount read-only."""
    set_attributes(tree, READ_ONLY)
    return tree


def is_opaque(folder: int | str) -> bool:
    """Return whether a folder of an upper layer hides all entries of the layers below."""
    for name in OPAQUE:
        with contextlib.suppress(OSError):
            return os.getxattr(folder, name) == b"y"
    return False


def _probe(upper: str) -> None:
    """Check for user attributes. Without them an overlay can't hide a folder that was made again.

    Raises:
        StepError: the file system does not support them.
    """
    try:
        os.setxattr(upper, PROBE, b"y")
        os.removexattr(upper, PROBE)
    except OSError as error:
        raise StepError(f"cannot set file attributes: {error.strerror}") from error


def _take_on(source: str, target: str) -> None:
    """Give the upper layer's folder, which is shown, the project folder's mode and times."""
    info = os.stat(source)
    os.chmod(target, stat.S_IMODE(info.st_mode))
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
