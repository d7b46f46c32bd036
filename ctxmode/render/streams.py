"""The standard streams of this process, where the caller closed one or a disk is full."""

from __future__ import annotations

import errno
import os
import sys

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def open_what_is_closed() -> None:
    """Standard streams that the caller has closed lead nowhere, as a daemon's do."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free descriptor is taken, which is the one that is missing.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def give_up_output() -> None:
    """Let go of what is not written yet: the interpreter's own flush at its end must not trip."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def no_space(error: OSError) -> str:
    """What is said where nothing more can be written."""
    where = f" ({error.filename})" if error.filename else ""
    return (
        f"nothing more can be written: {error.strerror}{where}\n"
        "  Free some space, or write to another place."
    )
