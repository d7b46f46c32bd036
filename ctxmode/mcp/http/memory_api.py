"""Facts over plain HTTP, beside the endpoint of the protocol: a table of routes below `/api/`.

Every answer has CTXone's three numbers, within `counterfactual`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote

import trio
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from base.strict_data import strict_json
from ctxmode import crash_report
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp.http import gate
from ctxmode.operations import facts
from ctxmode.operations.ctxone_numbers import counterfactual
from ctxmode.operations.fact_answers import (
    FactAnswer,
    FactRequest,
    answer,
    name_written_file,
)
from ctxmode.render import redaction
from kb.tokens import estimate_tokens
from memory.facts import DEFAULT_BUDGET, MAIN, Author

PLACE = "api"
BODY_BYTES_MAX = 1024 * 1024
QUERY_BYTES_MAX = 16 * 1024
NO_BODY = 'the body is no object of JSON: send one such as {"text": "…"}'


class _Body(BaseModel):
    """A body: unknown names are refused, and so are values of another type."""

    model_config = ConfigDict(extra="forbid")


class FactBody(_Body):
    text: StrictStr
    key: StrictStr = ""
    context: StrictStr = FactRequest().context
    title: StrictStr = ""
    tags: list[StrictStr] = Field(default_factory=list)
    confidence: StrictStr | StrictFloat | StrictInt = "medium"
    category: StrictStr = "observe"
    why: StrictStr = ""
    ttl: StrictStr = ""
    scope: StrictStr = "project"
    supersedes: StrictStr = ""
    source: StrictStr = ""
    branch: StrictStr = MAIN

    def build(self) -> FactRequest:
        """Build what is asked for."""
        return FactRequest(**(self.model_dump() | {"tags": tuple(self.tags)}))


class BranchBody(_Body):
    name: Annotated[StrictStr, Field(min_length=1)]
    base: Annotated[StrictStr, Field(alias="from")] = MAIN

    def build(self) -> FactRequest:
        """Build what is asked for."""
        return FactRequest(wanted=self.name, base=self.base)


class MergeBody(_Body):
    branch: Annotated[StrictStr, Field(min_length=1)]
    into: StrictStr = MAIN
    take: list[StrictStr] = Field(default_factory=list)

    def build(self) -> FactRequest:
        """Build what is asked for."""
        return FactRequest(wanted=self.branch, base=self.into, take=tuple(self.take))


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the routes."""

    method: str
    path: str  # with one group where an id or a name stands
    action: str
    query: Mapping[str, str]  # the parameters, each with the field that it fills
    body: type[Any] | None = None  # the form of what is sent
    given: Mapping[str, Any] | None = None


_BRANCH = {"branch": "branch"}
_ID = "([^/]+)"
ROUTES = (
    Route("POST", "memory", "remember", {}, FactBody),
    Route("GET", "memory", "recall",
          _BRANCH | {"q": "text", "budget": "budget", "exact": "is_exact", "scope": "scope"}),
    Route("GET", "(?:memory/)?ls", "list", _BRANCH | {"prefix": "prefix", "limit": "limit"}),
    Route("GET", f"memory/{_ID}", "show", _BRANCH),
    Route("DELETE", f"memory/{_ID}", "forget",
          _BRANCH | {"why": "why", "reason": "why", "erase": "is_erased"}),
    Route("GET", f"memory/{_ID}/blame", "blame", _BRANCH),
    Route("GET", "branches", "branch", {}),
    Route("POST", "branches", "branch", {}, BranchBody),
    Route("DELETE", f"branches/{_ID}", "branch", {}, None, {"is_dropped": True}),
    Route("GET", "diff", "diff", {"a": "base", "b": "wanted"}),
    Route("POST", "merge", "merge", {}, MergeBody),
    Route("GET", "log", "log", {"branch": "branch", "limit": "limit"}, None, {"branch": ""}),
    Route("GET", "stats/tokens", "stats", {}),
)  # fmt: skip
_NUMBERS = ("budget", "limit")
_SWITCHES = {"1": True, "true": True, "0": False, "false": False, "": True}


class _RefusedError(Exception):
    """The request is refused with this status and these words."""

    def __init__(self, status: int, error: str, remedy: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.data = {"error": error} | ({"remedy": remedy} if remedy else {})


async def answer_api(config: Config, path: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request that the gate let in; `path` is what stands behind `/api/`."""
    try:
        route, wanted = _find_route(scope["method"], path)
        asked = _read_query(route, scope["query_string"])
        if wanted:
            asked["wanted"] = wanted
        if route.body is not None:
            messages = await gate.receive_body(receive, BODY_BYTES_MAX)
            request = await trio.to_thread.run_sync(_read_body, route.body, messages)
        else:
            request = FactRequest(**(dict(route.given or {}) | asked))
        if route.action == "diff" and not request.wanted:
            raise _RefusedError(400, "diff has no b", "Say diff?a=main&b=NAME.")
        name = str(scope["user"].username)
        act = partial(_act, config, route.action, request, name)
        status, data = await trio.to_thread.run_sync(act)
    except _RefusedError as error:
        status, data = error.status, error.data
    except Exception as raised:
        status, data = 500, {"error": crash_report.report(raised)}
    await JSONResponse(data, status)(scope, receive, send)


def _find_route(method: str, path: str) -> tuple[Route, str]:
    """Find the row of a request, and the id or name in its path."""
    methods = []
    for route in ROUTES:
        if found := re.fullmatch(route.path, path.strip("/")):
            if route.method == method:
                return route, _decode(found[1]) if found.groups() else ""
            methods.append(route.method)
    if methods:
        raise _RefusedError(405, f"{method} is not served here: only {', '.join(methods)}")
    served = ", ".join(dict.fromkeys(_word(route.path) for route in ROUTES))
    raise _RefusedError(404, f"there is only {served} below /{PLACE}/")


def _decode(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError as error:
        raise _RefusedError(400, "the path is not UTF-8", "Encode it with %.") from error


def _word(path: str) -> str:
    return path.replace(_ID, "ID").replace("(?:memory/)?", "")


def _read_query(route: Route, given: bytes) -> dict[str, Any]:
    if len(given) > QUERY_BYTES_MAX:
        raise _RefusedError(400, "the query is too long", f"Send at most {QUERY_BYTES_MAX} bytes.")
    try:
        pairs = parse_qsl(given.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise _RefusedError(400, "the query is not UTF-8", "Encode it with %.") from error
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in route.query:
            known = ", ".join(route.query) or "none"
            raise _RefusedError(400, f"{name[:40]!r} is no parameter here", f"Known: {known}.")
        field = route.query[name]
        if field in found:
            raise _RefusedError(400, f"{name} stands twice", "Give it once.")
        found[field] = _read_value(name, field, value)
    return found


def _read_value(name: str, field: str, value: str) -> Any:  # noqa: ANN401 - of the field's type
    if field in _NUMBERS:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            remedy = f"Give a whole number, such as {DEFAULT_BUDGET}."
            raise _RefusedError(400, f"{name}={value[:40]} is no number", remedy)
        return int(value)
    if field.startswith("is_"):
        if value not in _SWITCHES:
            raise _RefusedError(400, f"{name}={value[:40]} is neither true nor false")
        return _SWITCHES[value]
    return value


def _read_body(form: type[Any], messages: Sequence[Message]) -> FactRequest:
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > BODY_BYTES_MAX:
        raise _RefusedError(400, "the body is too large", f"Send at most {BODY_BYTES_MAX} bytes.")
    try:
        value = strict_json(body.decode("utf-8"))
    except RecursionError as error:
        raise _RefusedError(400, "the body is nested too deep", "Send a flat object.") from error
    except ValueError as error:
        raise _RefusedError(400, f"the body is not JSON: {error}", "Send one object.") from error
    if not isinstance(value, dict):
        raise _RefusedError(400, NO_BODY)
    try:
        request: FactRequest = form.model_validate(value).build()
    except ValidationError as error:
        raise _RefusedError(400, _explain(form, error)) from error
    return request


def _explain(form: type[BaseModel], error: ValidationError) -> str:
    """Say what is wrong with a body, name by name, and what is accepted."""
    lines = [
        f"- {'.'.join(map(str, one['loc']))}: {one['msg'][:1].lower()}{one['msg'][1:]}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    names = [f"{name}{'*' * field.is_required()}" for name, field in form.model_fields.items()]
    accepted = f"It accepts {', '.join(names)} (* is required)."
    return "\n".join(("it cannot use these arguments:", *lines, accepted))


def _act(config: Config, action: str, asked: FactRequest, name: str) -> tuple[int, dict[str, Any]]:
    """Do what is asked for, as the holder of a token; return the status and the answer."""
    try:
        answered = None if action == "stats" else _ask(config, action, asked, name)
        stats = facts.read_stats(config)
    except facts.UnknownError as error:
        raise _RefusedError(404, error.message, error.hint) from error
    except UsageError as error:
        raise _RefusedError(400, error.message, error.hint) from error
    except ContextModeError as error:
        raise _RefusedError(503, error.message, error.hint) from error
    found = answered or FactAnswer({"measured": stats}, "")
    if found.recalled_bytes:
        facts.count_recalled(config, found.recalled_bytes)
    _, data = redaction.redact_answer("", dict(found.data))
    sent = estimate_tokens(found.text or json.dumps(data, ensure_ascii=False))
    data["counterfactual"] = counterfactual(sent, stats["live_bytes"])
    return (409 if found.is_conflict else 200), data


def _ask(config: Config, action: str, asked: FactRequest, name: str) -> FactAnswer:
    author, to_write = Author(f"http:{name}"), name_written_file(action, asked)
    with facts.open_memory(config, author, to_write=to_write) as memory:
        return answer(memory, action, asked)
