"""What each tool accepts: the names that agents know, and what real clients send instead.

Clients send arrays as JSON text, one string where a list is meant, commands as bare strings, and
numbers and booleans as strings. All of that is understood; an unknown name is refused, because a
misspelt limit that is silently dropped would run without it.
"""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)


def _listed(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """A list, from a list, from the JSON text of one, or from a single item."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return [value]
        return [value] if text else []
    return [value] if isinstance(value, dict) else value


def _labelled(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Commands as objects with labels; one without a label is cmd_N."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            value = [value]
    items = _listed(value)
    if not isinstance(items, list):
        return items
    labelled = []
    for number, item in enumerate(items, start=1):
        command = {"command": item} if isinstance(item, str) else item
        if isinstance(command, dict) and not command.get("label"):
            command = {**command, "label": f"cmd_{number}"}
        labelled.append(command)
    return labelled


def _addressed(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Requests as objects; a bare string is an address."""
    items = _listed(value)
    if not isinstance(items, list):
        return items
    return [{"url": item} if isinstance(item, str) else item for item in items]


Strings = Annotated[list[str], BeforeValidator(_listed)]
Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Execute(_Arguments):
    language: str
    code: str
    timeout: Milliseconds | None = Field(None, description="ms; default 120000")
    cwd: str | None = Field(None, description="folder in the project")
    intent: str | None = Field(
        None, description="what you look for; large output is filtered by it"
    )
    profile: str = Field(
        "analyze", description="analyze: project changes are listed, not kept; build: kept"
    )
    artifacts: Strings = Field([], description="files to hand back, globs; images are shown")
    session: str | None = Field(
        None,
        description="any name; calls with the same one share variables (python, javascript, "
        "ruby, r, shell) and /tmp, and see the project live, read-only under analyze",
    )
    fresh: bool = Field(False, description="empty the session first")
    background: bool = Field(False, description="return a handle at once, for ctx_background")


class ExecuteFile(_Arguments):
    path: str = Field(min_length=1, description="file bound as FILE_CONTENT and FILE_CONTENT_PATH")
    language: str
    code: str
    timeout: Milliseconds | None = Field(None, description="ms")
    intent: str | None = None


class Command(_Arguments):
    label: str
    command: str


class Batch(_Arguments):
    commands: Annotated[
        list[Command], BeforeValidator(_labelled), Field(min_length=1, max_length=100)
    ]
    queries: Annotated[list[Query], BeforeValidator(_listed), Field(max_length=50)] = Field(
        [], description="searched in all outputs"
    )
    timeout: Milliseconds | None = Field(None, description="ms for all")
    concurrency: int | None = Field(
        None, ge=1, le=64, description="default: two per processor; 1: in order"
    )
    cwd: str | None = None
    query_scope: Literal["batch", "global"] = "batch"


class Background(_Arguments):
    handle: str | None = Field(None, description="none: list all")
    wait: Annotated[float, Field(gt=0, le=600_000)] | None = Field(
        None, description="ms to wait for its end"
    )
    stop: bool = False


class Index(_Arguments):
    content: str | None = None
    path: str | None = Field(None, description="file or folder in the project")
    source: str | None = Field(None, description="label to find it by")
    include: Strings = Field([], description="globs")
    exclude: Strings = Field([], description="globs")
    extensions: Strings = []
    maxDepth: int = Field(5, ge=0)  # noqa: N815 - the wire's name
    maxFiles: int = Field(200, ge=1)  # noqa: N815
    respectGitignore: bool = True  # noqa: N815
    followSymlinks: bool = False  # noqa: N815


class FetchOne(_Arguments):
    url: str
    source: str | None = None


class Fetch(_Arguments):
    url: str | None = None
    source: str | None = Field(None, description="label to find it by")
    requests: Annotated[list[FetchOne], BeforeValidator(_addressed)] = Field(
        [], description="several"
    )
    concurrency: int = Field(4, ge=1, le=8)
    ttl: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="ms; default a day"
    )
    force: bool = False


class Search(_Arguments):
    queries: Annotated[list[Query], BeforeValidator(_listed), Field(min_length=1, max_length=50)]
    limit: int = Field(3, ge=1, le=50, description="per query")
    source: str | None = Field(None, description="label, part of one, or output_id")
    contentType: Literal["code", "prose"] | None = None  # noqa: N815
    sort: Literal["relevance", "timeline"] = "relevance"


class Purge(_Arguments):
    confirm: bool
    scope: Literal["project", "session"] | None = None
    sessionId: str | None = None  # noqa: N815
    source: str | None = Field(None, description="part of a label, or output_id")
    kind: str | None = None
    olderThan: str | None = Field(None, description="age: 12h, 7d")  # noqa: N815


class Changes(_Arguments):
    id: str | None = None
    action: Literal["show", "apply", "drop"] = "show"
    paths: list[str] = []


class Stats(_Arguments):
    pass


class Doctor(_Arguments):
    pass


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without what only costs tokens or upsets clients.

    Titles and null alternatives say nothing to a caller who may leave a name out, and one widely
    used host drops a tool whose schema has `additionalProperties`.
    """
    schema: dict[str, Any] = _slim(model.model_json_schema())
    return schema


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
    dropped = {"title", "additionalProperties", "$defs", "maxLength", "minLength", "maxItems"}
    slim = {}
    for key, value in node.items():
        if key in dropped or (key == "default" and value in (None, [], False)):
            continue
        if key == "properties":
            slim[key] = {name: _slim(schema, known) for name, schema in value.items()}
        else:
            slim[key] = _slim(value, known)
    return slim


def explain(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    """What is wrong with the arguments, name by name, and what the tool accepts."""
    lines = [f"{tool} cannot use these arguments:"]
    for problem in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in problem["loc"]) or "arguments"
        lines.append(f"- {name}: {_wording(name, problem['type'], problem['msg'], model)}")
    names = [f"{n}{'*' if f.is_required() else ''}" for n, f in model.model_fields.items()]
    accepted = f"{', '.join(names)} (* is required)" if names else "no arguments"
    lines.append(f"It accepts {accepted}.")
    return "\n".join(lines)


# What other tools call the same.
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
