"""What a tool is: one row with its name, text, arguments, hints, deadline, call and output schema.

Descriptions say WHEN, WHEN NOT, RETURNS and EXAMPLE, in that order. They invite instead of
forbidding, since agents follow an offer, and are short: every conversation pays for each word.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from ctxmode.app import App
from ctxmode.mcp.client import Client
from ctxmode.mcp.reply import Reply
from executor import Caller
from executor.model import Limits, Request
from executor.run.output_routing import Answer

# Clients send arrays as JSON text, one string where a list is meant, commands as bare strings,
# and numbers and booleans as strings. All of that is understood; an unknown name is refused,
# because a misspelt limit that is silently dropped would run without it.


def read_list(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Return a list, from a list, from the JSON text of one, or from a single item."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return [value]
        return [value] if text else []
    return [value] if isinstance(value, dict) else value


Strings = Annotated[list[str], BeforeValidator(read_list)]
Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Arguments(BaseModel):
    """The arguments of one tool: unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(Arguments):
    pass


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build the JSON Schema of a tool's arguments, without titles and null alternatives: they cost
    tokens and say nothing, as least values do. One widely used host drops a tool whose schema has
    `additionalProperties`."""
    schema: dict[str, Any] = _slim(model.model_json_schema())
    return schema


_DROPPED = frozenset((
    "title", "additionalProperties", "$defs",
    "maxLength", "minLength", "maxItems", "minItems", "minimum", "exclusiveMinimum",
))  # fmt: skip


def _slim(node: Any, definitions: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        return [_slim(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    known = node.get("$defs", definitions) or {}
    if "$ref" in node:
        return _slim(known[node["$ref"].rpartition("/")[2]], known)
    if "anyOf" in node:
        only = next(option for option in node["anyOf"] if option.get("type") != "null")
        node = {**{k: v for k, v in node.items() if k != "anyOf"}, **only}
    slim = {}
    for key, value in node.items():
        if key in _DROPPED or (key == "default" and value in (None, [], False, "")):
            continue
        if key == "properties":
            slim[key] = {name: _slim(schema, known) for name, schema in value.items()}
        else:
            slim[key] = _slim(value, known)
    return slim


def explain(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    """Say what is wrong with the arguments, name by name, and what the tool accepts."""
    lines = [f"{tool} cannot use these arguments:"]
    for problem in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in problem["loc"]) or "arguments"
        lines.append(f"- {name}: {_wording(name, problem['type'], problem['msg'], model)}")
    names = [f"{n}{'*' if f.is_required() else ''}" for n, f in model.model_fields.items()]
    accepted = f"{', '.join(names)} (* is required)" if names else "no arguments"
    lines.append(f"It accepts {accepted}.")
    return "\n".join(lines)


# The names that other tools give to our arguments.
_MEANT = {
    "command": ("code", "commands"), "cmd": ("code", "commands"), "script": ("code",),
    "program": ("code",), "file": ("path",), "filename": ("path",), "directory": ("path", "cwd"),
    "workdir": ("cwd",), "lang": ("language",), "q": ("queries",), "text": ("content", "queries"),
    "label": ("source",), "name": ("source", "session"), "urls": ("requests",), "id": ("handle",),
}  # fmt: skip


def _wording(name: str, kind: str, message: str, model: type[BaseModel]) -> str:
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        near = [word for word in _MEANT.get(name.lower(), ()) if word in model.model_fields]
        near += difflib.get_close_matches(name.lower(), model.model_fields, n=1)
        return f"is unknown; did you mean {near[0]}?" if near else "is unknown; leave it out"
    return message[:1].lower() + message[1:]


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
        "inputSchema": input_schema(tool.arguments),
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
