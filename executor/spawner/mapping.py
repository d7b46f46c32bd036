"""Binds with mapped ids in this mount namespace, for containers: a process of its own, as root.

Reads {"user": [uid, gid], "binds": [[source, target, read_only], …]} from its standard input; each
source's owner is `user` at its target. What fails is said on standard error, with exit 1; what
fails of "optional" binds has no target.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from .kernel import ATTR_NODEV, ATTR_NOSUID, READ_ONLY, StepError, attach, set_attributes
from .staging import map_owner


def main() -> None:
    asked = json.load(sys.stdin)
    try:
        for source, target, read_only in asked["binds"]:
            bind(source, target, asked["user"], read_only=read_only)
    except (StepError, OSError) as error:
        sys.exit(str(error))
    for source, target, read_only in asked["optional"]:
        try:
            bind(source, target, asked["user"], read_only=read_only)
        except (StepError, OSError):
            with contextlib.suppress(OSError):
                os.rmdir(target)


def bind(source: str, target: str, user: tuple[int, int], *, read_only: bool) -> None:
    """Show `source` at `target`, which is made.

    Raises:
        StepError: its ids can't be mapped here.
        OSError: it does not exist, or the target can't be made.
    """
    tree = map_owner(source, *user)
    set_attributes(tree, READ_ONLY if read_only else ATTR_NOSUID | ATTR_NODEV)
    if os.path.isdir(source):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o600))
    attach(tree, target)
