"""What a tool is: one row with its name, text, arguments, hints, deadline, call and output schema.

Descriptions say WHEN, WHEN NOT, RETURNS and EXAMPLE, in that order. They invite instead of
forbidding, since agents follow an offer, and are short: every conversation pays for each word.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from ctxmode.app import App
from ctxmode.mcp import arguments
from ctxmode.mcp.client import Client
from ctxmode.mcp.reply import Reply
from executor import Caller
from executor.model import Limits, Request
from executor.run.output_routing import Answer

MILLISECONDS = 1000
ANSWER_GRACE_S = 60.0
"""What a run's tool call may take beyond the run's own deadline: queueing, keeping, indexing."""

FETCHING_S = 600.0
"""What it may take beyond that to have packages at their first use."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a call is carried out on: the open project, and the client that asked."""

    app: App
    client: Client
    tools: frozenset[str] = frozenset()

    @property
    def caller(self) -> Caller:
        """Say who asks, as rules see it: with these tools, and a person who may be asked."""
        return Caller(self.tools, self.client.consent, self.client.preparing, self.client.holder)

    @property
    def caller_midway(self) -> Caller:
        """Say the same for one of several programs, when others may have run already."""
        return replace(self.caller, consent=partial(self.client.consent, may_restart=False))

    async def execute(self, request: Request) -> Answer:
        """Run a program, with its output in the progress display."""
        return await self.app.execute(
            request, on_output=self.client.take_output, caller=self.caller
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """One row. `deadline_s` tells the longest that a call with these arguments may take."""

    name: str
    description: str
    arguments: type[BaseModel]
    annotations: Mapping[str, bool]
    call: Callable[[CallContext, Any], Awaitable[Reply]]
    deadline_s: Callable[[Any], float]
    output_schema: Mapping[str, Any]


def describe(tool: Tool) -> dict[str, Any]:
    """Return a tool as `tools/list` shows it: of the hints those that differ from what the protocol
    takes for granted, since every conversation pays for each."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": arguments.input_schema(tool.arguments),
        "outputSchema": dict(tool.output_schema),
        "annotations": {
            name: is_so
            for name, is_so in tool.annotations.items()
            if DEFAULT_HINTS.get(name) is not is_so
        },
    }


def seconds(timeout_ms: float | None) -> float | None:
    """Convert a client's milliseconds."""
    return None if timeout_ms is None else timeout_ms / MILLISECONDS


def run_deadline(given: Any) -> float:  # noqa: ANN401 - any arguments with a timeout
    """Return how long a call that runs programs may take."""
    programs = (given, *getattr(given, "commands", ()))
    fetching_s = FETCHING_S if any(getattr(one, "packages", ()) for one in programs) else 0.0
    return (seconds(given.timeout) or Limits().wall_s) + ANSWER_GRACE_S + fetching_s


def _hint(*, reads: bool = False, destroys: bool = False, opens: bool = False) -> dict[str, bool]:
    return {"readOnlyHint": reads, "destructiveHint": destroys, "openWorldHint": opens}


DEFAULT_HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What the protocol takes for granted where a tool says nothing."""

RUNS_CODE = _hint(destroys=True)
ADDS = _hint()
FETCHES = _hint(opens=True)
READS = {"readOnlyHint": True, "openWorldHint": False}
FORGETS = _hint(destroys=True) | {"idempotentHint": True}
