"""A tool as it is called: the model of its arguments, its deadline, and its function.

All of it but the function is a row of `tools/rows.toml`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
)

from ctxmode.app import App
from ctxmode.mcp.client import Client
from ctxmode.mcp.reply import Reply
from executor import Caller, Limits, Request
from executor.run import Answer

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


def _label_commands(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Commands as objects with labels; one without a label is cmd_N."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _read_object(value, [value])
    items = _read_named(value, "command")
    if not isinstance(items, list):
        return items
    return [
        {**item, "label": f"cmd_{number}"}
        if isinstance(item, dict) and not item.get("label")
        else item
        for number, item in enumerate(items, start=1)
    ]


def _read_named(value: Any, name: str) -> Any:  # noqa: ANN401 - whatever a client sent
    """Return objects, from a list of them or of texts: a bare text is the field of that name."""
    items = read_list(value)
    if not isinstance(items, list):
        return items
    return [{name: item} if isinstance(item, str) else item for item in items]


def _read_object(value: Any, otherwise: object = None) -> Any:  # noqa: ANN401 - as above
    """Return an object, from its JSON text, too."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else {}
    except (ValueError, RecursionError):
        return value if otherwise is None else otherwise


def _write_number(value: object) -> object:
    """Return a number as text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _write_object(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Return an object as text."""
    if not isinstance(value, dict):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # nested too deeply, so it is of no use
        return value


Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
TYPES: Mapping[str, Any] = {
    "text": str,
    "flag": bool,
    "whole": int,
    "number": float,
    "milliseconds": Annotated[float, Field(gt=0, allow_inf_nan=False)],
    "object": Mapping[str, Any],
    "texts": Annotated[list[str], BeforeValidator(read_list)],
    "strict texts": list[str],
    "queries": Annotated[list[Query], BeforeValidator(read_list)],
}
READERS: Mapping[str, Callable[[Any], Any]] = {
    "commands": _label_commands,
    "pages": partial(_read_named, name="url"),
    "number": _write_number,
    "object": _read_object,
    "summary": _write_object,
}
Given: TypeAlias = Any
"""The arguments of a call, of the model that its tool's row describes."""


class Arguments(BaseModel):
    """The arguments of one tool: unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


def build_arguments(name: str, rows: Mapping[str, Mapping[str, Any]]) -> type[BaseModel]:
    """Build the model of a tool's arguments from their rows."""
    # A model written out could have no field `from`, a word of Python's.
    fields: dict[str, Any] = {field: _build_field(name, row) for field, row in rows.items()}
    return create_model(name, __base__=Arguments, **fields)


def _build_field(name: str, row: Mapping[str, Any]) -> tuple[Any, Any]:
    known = ("type", "one_of", "of", "read", "default")
    kind, *null = row.get("type", "text").partition("?")[:2]
    wanted: Any = TYPES.get(kind)
    if "one_of" in row:
        wanted = Literal[tuple(row["one_of"])]
    elif "of" in row:
        wanted = list[build_arguments(f"{name} item", row["of"])]  # type: ignore[misc]
    if "read" in row:
        wanted = Annotated[wanted, BeforeValidator(READERS[row["read"]])]
    if "?" in null:
        wanted |= None
    default = row.get("default", None if "?" in null else ...)
    more = {key: value for key, value in row.items() if key not in known}
    if default == {}:
        return wanted, Field(default_factory=dict, **more)
    return wanted, Field(default, **more)


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
    """A tool that is loaded.

    Attributes:
        deadline_s: the longest that a call with these arguments may take.
    """

    name: str
    arguments: type[BaseModel]
    call: Callable[[CallContext, Given], Awaitable[Reply]]
    deadline_s: Callable[[Given], float]


def seconds(timeout_ms: float | None) -> float | None:
    """Convert a client's milliseconds."""
    return None if timeout_ms is None else timeout_ms / MILLISECONDS


def _limit_run(given: Given) -> float:
    programs = (given, *getattr(given, "commands", ()))
    fetching_s = FETCHING_S if any(getattr(one, "packages", ()) for one in programs) else 0.0
    return (seconds(given.timeout) or Limits().wall_s) + ANSWER_GRACE_S + fetching_s


DEADLINES: Mapping[str, Callable[[Given], float]] = {
    "run": _limit_run,
    "wait": lambda given: (seconds(given.wait) or 0) + ANSWER_GRACE_S,
    "pages": lambda given: 30.0 * (1 + len(given.requests)) + ANSWER_GRACE_S,
}


def build_tool(
    name: str, row: Mapping[str, Any], call: Callable[[CallContext, Given], Awaitable[Reply]]
) -> Tool:
    """Build a tool from its row and its function."""
    limit = row["deadline"]
    deadline_s = DEADLINES[limit] if isinstance(limit, str) else lambda given: float(limit)
    return Tool(name, build_arguments(name, row.get("arguments", {})), call, deadline_s)
