"""Tools: their arguments, deadlines and functions.

Everything except the function is a row of `tools/rows.toml`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from ctxmode.app import App
from ctxmode.errors import UsageError
from ctxmode.mcp.client import Client
from ctxmode.mcp.reply import Reply
from ctxmode.operations import operation
from ctxmode.operations.library import Library
from ctxmode.operations.operation import Operation
from executor import Caller, Limits, Request
from executor.run import Answer

# Clients send arrays as JSON text, one string instead of a list, commands as bare strings, and
# numbers and booleans as strings. All of this is accepted. An unknown name is refused, because a
# misspelt limit must not be ignored silently.


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
    """Return commands as objects with labels; the default label is cmd_N."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _read_object(value, [value])
    items = _read_named(value, "command")
    if not isinstance(items, list):
        return items
    return [
        item
        | {"label": item.get("label") or f"cmd_{number}"}
        | ({"packages": read_list(item["packages"])} if "packages" in item else {})
        if isinstance(item, dict)
        else item
        for number, item in enumerate(items, start=1)
    ]


def _read_named(value: Any, name: str) -> Any:  # noqa: ANN401 - whatever a client sent
    """Return objects, from a list of objects or texts; a text becomes the field `name`."""
    items = read_list(value)
    if not isinstance(items, list):
        return items
    return [{name: item} if isinstance(item, str) else item for item in items]


def _read_object(value: Any, otherwise: object = None) -> Any:  # noqa: ANN401 - as above
    """Return an object, from an object or its JSON text."""
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
    except RecursionError:  # nested too deeply
        return value


# Text has no lone surrogate, which cannot be stored; a query has more than spaces.
WHOLE_TEXT = r"\A[^\ud800-\udfff]*\Z"
Query: TypeAlias = Annotated[str, Meta(max_length=2000, pattern=rf"\A(?=\s*\S){WHOLE_TEXT}")]
Number: TypeAlias = Annotated[float, Meta(le=1e15)]  # neither infinite nor NaN
TYPES: Mapping[str, Any] = {
    "text": str,
    "flag": bool,
    "whole": int,
    "number": Number,
    "milliseconds": Annotated[Number, Meta(gt=0)],
    "object": Mapping[str, Any],
    "texts": list[str],
    "strict texts": list[str],
    "queries": list[Query],
}
READERS: Mapping[str, Callable[[Any], Any]] = {
    "commands": _label_commands,
    "pages": partial(_read_named, name="url"),
    "number": _write_number,
    "object": _read_object,
    "summary": _write_object,
    "texts": read_list,
    "queries": read_list,
}
"""Functions that convert a client's value for its type: by `read` of a row, else by its type."""

LIMITS = ("gt", "ge", "le", "min_length", "max_length")
Given: TypeAlias = Any
"""The arguments of a call, as attributes."""


class Arguments:
    """The arguments of a tool, from its rows: unknown names are refused."""

    def __init__(self, tool: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self.tool = tool
        self.rows = rows
        self._types = {name: _build_type(row) for name, row in rows.items()}
        self._defaults = {name: _find_default(row) for name, row in rows.items()}
        self.required = [name for name, default in self._defaults.items() if default is ...]

    def validate(self, given: Mapping[str, Any]) -> Given:
        """Read what a client sent. Raise UsageError if arguments are invalid; the message has the
        reason for each."""
        problems = {name: self._wording(name) for name in given if name not in self.rows}
        problems |= {name: "is required" for name in self.required if name not in given}
        found = dict(self._defaults)
        for name, row in self.rows.items():
            if name not in given:
                continue
            value, kind = given[name], row.get("type", "text").removesuffix("?")
            if reader := READERS.get(row.get("read", kind)):
                value = reader(value)
            try:
                found[name] = msgspec.convert(value, self._types[name], strict=False)
            except msgspec.ValidationError as error:
                below, said = _explain(str(error), row)
                problems[f"{name}{below}"] = said
        if problems:
            raise UsageError(self._list(problems))
        return SimpleNamespace(**found)

    def _wording(self, name: str) -> str:
        near = [word for word in _MEANT.get(name.lower(), ()) if word in self.rows]
        near += difflib.get_close_matches(name.lower(), self.rows, n=1)
        return f"is unknown; did you mean {near[0]}?" if near else "is unknown; remove it"

    def _list(self, problems: Mapping[str, str]) -> str:
        names = [f"{name}{'*' * (name in self.required)}" for name in self.rows]
        accepted = f"{', '.join(names)} (* is required)" if names else "no arguments"
        lines = [f"- {name}: {said}" for name, said in problems.items()]
        head = f"{self.tool} cannot use these arguments:"
        return "\n".join((head, *lines, f"It accepts {accepted}."))


def _find_default(row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as the row has it
    """Return the default of an argument; `...` if it is required."""
    return row.get("default", None if row.get("type", "").endswith("?") else ...)


def _build_type(row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a type
    kind, *null = row.get("type", "text").partition("?")[:2]
    wanted: Any = TYPES.get(kind)
    limits = {name: row[name] for name in LIMITS if name in row}
    if "one_of" in row:
        wanted = Literal[tuple(row["one_of"])]
    elif "of" in row:
        fields = []
        for name, below in row["of"].items():
            default = _find_default(below)
            fields.append((name, _build_type(below), *([] if default is ... else [default])))
        wanted = list[msgspec.defstruct("Item", fields, forbid_unknown_fields=True)]  # type: ignore[misc]
    elif wanted == Number and "le" in limits:
        wanted = float  # its own limit is below that of numbers
    elif wanted is str and "max_length" in limits:
        limits["pattern"] = WHOLE_TEXT
    if limits:
        wanted = Annotated[wanted, Meta(**limits)]
    return wanted | None if "?" in null else wanted


PLAIN_WORDS = {
    " | null`": "`", "`str`": "text", "`int`": "a whole number", "`float`": "a number",
    "`bool`": "true or false", "`array`": "a list", "`object`": "an object", "Expected": "must be",
}  # fmt: skip


def _explain(said: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the path of a problem within an argument, and the problem in plain words."""
    problem, _, at = said.partition(" - at `$")
    below = re.sub(r"[\[\].]+", ".", at.rstrip("`")).rstrip(".")
    if field := re.fullmatch(r"Object (missing required|contains unknown) field `(.+)`", problem):
        is_missing = field[1].startswith("missing")
        return f"{below}.{field[2]}", "is required" if is_missing else "is unknown; remove it"
    if problem.startswith("Invalid enum value"):
        return below, f"must be one of {', '.join(row['one_of'])}"
    if "matching regex" in problem:
        return below, "must be valid Unicode text with more than spaces"
    for word, plain in PLAIN_WORDS.items():
        problem = problem.replace(word, plain)
    if length := re.fullmatch(r"must be (text|a list) of length (>=|<=) ([0-9]+)", problem):
        things = "characters" if length[1] == "text" else "items"
        most = "at least" if length[2] == ">=" else "at most"
        return below, f"must have {most} {length[3]} {things}"
    return below, problem


# Names of our arguments in other tools.
_MEANT = {
    "command": ("code", "commands"), "cmd": ("code", "commands"), "script": ("code",),
    "program": ("code",), "file": ("path",), "filename": ("path",), "directory": ("path", "cwd"),
    "workdir": ("cwd",), "lang": ("language",), "q": ("queries",), "text": ("content", "queries"),
    "label": ("source",), "name": ("source", "session"), "urls": ("requests",), "id": ("handle",),
}  # fmt: skip


MILLISECONDS = 1000
ANSWER_GRACE_S = 60.0
"""Seconds added to a run's own deadline for its tool call: queueing, storing, indexing."""

FETCHING_S = 600.0  # further seconds for fetching packages at their first use


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of a call: the open project, the client and the offered tools."""

    app: App
    client: Client
    tools: frozenset[str] = frozenset()

    @property
    def caller(self) -> Caller:
        """Return the caller for the rules: its tools, and how to ask the user for approval."""
        return Caller(self.tools, self.client.consent, self.client.preparing, self.client.holder)

    @property
    def caller_midway(self) -> Caller:
        """Return the caller for one of several programs; others may have run already."""
        return replace(self.caller, consent=partial(self.client.consent, may_restart=False))

    async def execute(self, request: Request) -> Answer:
        """Run a program; show its output in the progress display."""
        return await self.app.execute(
            request, on_output=self.client.take_output, caller=self.caller
        )

    async def perform(self, do: Operation, arguments: Mapping[str, Any]) -> operation.Answer:
        """Perform an operation as the client's agent and session."""
        from ctxmode.operations.facts import find_author  # noqa: PLC0415 - few tools load memory
        from ctxmode.operations.session_choice import list_owners  # noqa: PLC0415 - as above

        owners = list_owners(self.client.holder)

        def act(library: Library) -> operation.Answer:
            author = find_author(library.config, self.client.name, owners)
            asker = operation.Asker(library.config, agent=author.agent, session=author.session)
            answer: operation.Answer = do(asker, **arguments)
            return answer

        return await self.app.read(act)


@dataclass(frozen=True, slots=True)
class Tool:
    """A loaded tool.

    Attributes:
        deadline_s: returns the time limit of a call with these arguments.
    """

    name: str
    arguments: Arguments
    call: Callable[[CallContext, Given], Awaitable[Reply]]
    deadline_s: Callable[[Given], float]


def seconds(timeout_ms: float | None) -> float | None:
    """Convert a client's milliseconds to seconds."""
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
    return Tool(name, Arguments(name, row.get("arguments", {})), call, deadline_s)
