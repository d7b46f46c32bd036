"""Extended attributes that a program may give its files: those of its own name space."""

from __future__ import annotations

import contextlib
import errno
import os

Attributes = tuple[tuple[str, bytes], ...]
_OVERLAYS = "user.overlay."
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
# An upper layer that lies elsewhere, or is only half there, is none that we can read.
# What a program calls so itself, the kernel writes with a further `overlay.`.
UNREADABLE = frozenset(
    f"{space}.overlay.{what}" for space in ("user", "trusted") for what in ("redirect", "metacopy")
)


def attributes(place: int | str) -> Attributes:
    """Read those of an open file, or of a path that is not a link, in order; () without any."""
    try:
        names = os.listxattr(place)
    except OSError:
        return ()
    own = sorted(n for n in names if n.startswith("user.") and not n.startswith(_OVERLAYS))
    return tuple((name, os.getxattr(place, name)) for name in own)


def set_attributes(place: int | str, wanted: Attributes) -> None:
    """Give a file, which is not a link, just these; a file system without them goes without."""
    present = dict(attributes(place))
    with contextlib.suppress(OSError):
        for name, value in wanted:
            if present.pop(name, None) != value:
                os.setxattr(place, name, value)
        for name in present:
            os.removexattr(place, name)


def remove_layers(descriptor: int) -> None:
    """Take from a file what an overlay has noted on it for itself.

    Raises:
        OSError: it can't be taken.
    """
    try:
        names = os.listxattr(descriptor)
    except OSError:
        return
    for name in names:
        if name.startswith(_OVERLAYS):
            os.removexattr(descriptor, name)


def is_opaque(descriptor: int) -> bool:
    """Return whether a folder of an upper layer hides all that lies below it.

    Raises:
        OSError: it is more than a plain upper folder.
    """
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return False
        raise
    values = {os.getxattr(descriptor, name) for name in OPAQUE if name in names}
    if values - {b"y"} or not UNREADABLE.isdisjoint(names):
        raise OSError(errno.EUCLEAN, "the upper layer is not whole in itself")
    return bool(values)
