"""Whether a tool of ours can be called from a host, so that a redirect to it can be followed."""

from __future__ import annotations

import os
import time

from ctxmode.hosts.hooks.rulings import Ground
from policy.deadline import pause_limit

STARTING_SECONDS = 5.0
_POLL_SECONDS = 0.05


def is_callable(host: str, data: str, ground: Ground) -> bool:
    """Say whether a server of this user lives, or comes to live soon.

    A host starts its servers beside its first turn, so a call may be made before ours holds its
    lock; were a redirect advice by then, the call would pass. Where the host has our server among
    those that it starts, the lock is waited for, `STARTING_SECONDS` at most. Elsewhere, and for a
    server that does not come, a redirect is advice: our tools cannot be called.
    """
    if _is_any_alive(data):
        return True
    with pause_limit():
        from ctxmode.hosts.setup.registered import is_registered  # noqa: PLC0415 - few calls wait

        if not is_registered(host, ground.project, ground.home, ground.environ):
            return False
    until = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        if _is_any_alive(data):
            return True
    return False


def _is_any_alive(data: str) -> bool:
    """Whether any server of this user holds its lock."""
    folder = os.path.join(data, "state", "instances")
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    locks = (name for name in names if name.endswith(".lock") and "-" in name)
    return any(_is_held(os.path.join(folder, name)) for name in locks)


def _is_held(path: str) -> bool:
    from base.locks import is_held  # noqa: PLC0415 - where no server was, there is nothing to ask

    try:
        return is_held(path)
    except OSError:
        return False
