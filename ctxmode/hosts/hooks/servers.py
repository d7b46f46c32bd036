"""Whether a tool of ours can be called from a host, so that a redirect to it can be followed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from ctxmode.hosts.hooks.calls import Ground, Ruling, ToolCall
from policy.deadline import HOOK_SECONDS, pause_limit, results_of

# Only the child loads the policy: two processes that share much pay for each page that one
# changes.


def ruling(
    call: ToolCall, ground: Ground, is_callable: Callable[[], bool]
) -> tuple[Ruling, list[dict[str, Any]]]:
    """What to tell the host, and the verdicts behind it, as JSON. `is_callable` says whether our
    tools are, and is asked only where a rule redirects to one.

    A caller that may lack our tools is advised where another would be redirected. Rules that
    cannot be read deny: nothing is allowed unread.
    """

    def steps(*, is_judged: bool) -> Iterator[bytes]:
        with pause_limit():
            from ctxmode.hosts.hooks import verdicts  # noqa: PLC0415 - loads the policy

        yield from verdicts.steps(call, ground, is_callable, is_judged=is_judged)

    results = results_of(lambda: steps(is_judged=True), HOOK_SECONDS)
    if results == [b""]:
        results = results_of(lambda: steps(is_judged=False), HOOK_SECONDS)
    if not any(results):
        return Ruling("deny", "The rules cannot be read in time, so nothing is allowed."), []
    said, verdicts = json.loads(results[-1])
    return Ruling(*said), verdicts


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
        from ctxmode.hosts.setup.target import is_registered  # noqa: PLC0415 - few calls wait

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
