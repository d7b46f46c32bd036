"""What the rules say of a tool call on an agent's own host: judged in a child, in bounded time.

Only the child loads the policy: two processes that share much pay for each page that one changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ctxmode.hosts.hooks.calls import Ruling, ToolCall
from policy.deadline import HOOK_SECONDS, pause_limit, results_of


class Ground(NamedTuple):
    """Where a call is made: its project, the person's home and environment."""

    project: str
    home: str
    environ: Mapping[str, str]


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
