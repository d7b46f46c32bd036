"""The standard streams of this process, where the caller closed one or a disk is full."""

from __future__ import annotations

import errno
import os
import sys

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def open_what_is_closed() -> None:
    """Open the null device for each standard stream that the caller has closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free descriptor is taken, which is the one that is missing.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def give_up_output() -> None:
    """Drop what is not written yet, so that the interpreter's own flush at its end does not
    fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def no_space(error: OSError) -> str:
    """Word that nothing more can be written."""
    where = f" ({error.filename})" if error.filename else ""
    return (
        f"nothing more can be written: {error.strerror}{where}\n"
        "  Free some space, or write to another place."
    )
