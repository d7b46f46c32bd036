"""Facts over plain HTTP, in addition to the protocol's endpoint: a table of routes below `/api/`.

Every answer has CTXone's three numbers, in `counterfactual`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import trio
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from base.strict_data import strict_json
from base.wording import list_choices
from ctxmode import crash_report
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp.http import gate
from ctxmode.operations import fact_actions as actions
from ctxmode.operations import fact_history as history
from ctxmode.operations import facts
from ctxmode.operations.operation import (
    Answer,
    Asker,
    Operation,
    list_parameters,
    take_arguments,
)
from ctxmode.render import redaction
from kb.tokens import estimate_tokens
from memory.facts import MAIN

PLACE = "api"
BODY_BYTES_MAX = 1024 * 1024
QUERY_BYTES_MAX = 16 * 1024
NO_BODY = 'the body is not a JSON object: send one such as {"text": "…"}'


def _name(*same: str, **others: str) -> Mapping[str, str]:
    """Map names in a request to parameters."""
    return {name: name for name in same} | others


class Route(NamedTuple):
    """One row of the routes."""

    method: str
    path: str  # with one group for an ID or a name: the operation's first parameter
    operation: Operation
    names: Mapping[str, str] = {}  # names in the request, with their parameters
    has_body: bool = False  # the body has the parameters instead of the query
    defaults: Mapping[str, Any] = {}


_ID = "([^/]+)"
_FACT = ("text", "key", "context", "title", "tags", "confidence", "category", "why", "ttl", "scope",
         "supersedes", "source", "branch")  # fmt: skip
ROUTES = (
    Route("POST", "memory", actions.remember_fact, _name(*_FACT), has_body=True),
    Route("GET", "memory", actions.recall_facts,
          _name("branch", "budget", "exact", "scope", q="query")),
    Route("GET", "(?:memory/)?ls", actions.list_facts, _name("branch", "prefix", "limit")),
    Route("GET", f"memory/{_ID}", actions.show_fact, _name("branch")),
    Route("DELETE", f"memory/{_ID}", actions.forget_fact,
          _name("branch", "why", "erase", reason="why")),
    Route("GET", f"memory/{_ID}/blame", history.blame_fact, _name("branch")),
    Route("GET", "branches", history.keep_branches),
    Route("POST", "branches", history.begin_branch, _name("name", **{"from": "base"}),
          has_body=True),
    Route("DELETE", f"branches/{_ID}", history.keep_branches, defaults={"drop": True}),
    Route("GET", "diff", history.diff_branches, _name("a", "b"), defaults={"a": MAIN}),
    Route("POST", "merge", history.merge_branches, _name("into", "take", branch="name"),
          has_body=True),
    Route("GET", "log", history.list_changes, _name("branch", "limit")),
    Route("GET", "stats/tokens", actions.show_stats),
)  # fmt: skip
STATUSES: Mapping[type[ContextModeError], int] = {
    facts.UnknownError: 404,
    UsageError: 400,
    ContextModeError: 503,
}


class _MethodError(ContextModeError):
    """The path exists, but not with this method."""


async def answer_api(config: Config, path: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request that the gate admitted; `path` is the part after `/api/`."""
    try:
        route, given = _find_route(scope["method"], path)
        given |= _read_query(route, scope["query_string"])
        messages = await gate.receive_body(receive, BODY_BYTES_MAX) if route.has_body else ()
        asker = Asker(config, agent=f"http:{scope['user'].username}")
        act = partial(_act, asker, route, given, messages)
        status, data = await trio.to_thread.run_sync(act)
    except ContextModeError as error:
        kinds = ((kind, one) for kind, one in STATUSES.items() if isinstance(error, kind))
        status = 405 if isinstance(error, _MethodError) else next(kinds)[1]
        data = {"error": error.message} | ({"remedy": error.hint} if error.hint else {})
    except Exception as raised:
        status, data = 500, {"error": crash_report.report(raised)}
    await JSONResponse(data, status)(scope, receive, send)


def _find_route(method: str, path: str) -> tuple[Route, dict[str, Any]]:
    """Find the route of a request, and the parameter in its path."""
    methods = []
    for route in ROUTES:
        if found := re.fullmatch(route.path, path.strip("/")):
            if route.method == method:
                first = (one.outer_name for one in list_parameters(route.operation))
                return route, {next(first): _decode(word) for word in found.groups()}
            methods.append(route.method)
    if methods:
        raise _MethodError(f"{method} is not allowed here; use {', '.join(methods)}")
    words = (one.path.replace(_ID, "ID").replace("(?:memory/)?", "") for one in ROUTES)
    raise facts.UnknownError(
        "path not found", f"Paths below /{PLACE}/: {', '.join(dict.fromkeys(words))}."
    )


def _decode(part: str) -> str:
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError as error:
        raise UsageError("the path is not UTF-8", "Encode it with %.") from error


def _read_query(route: Route, given: bytes) -> dict[str, Any]:
    if len(given) > QUERY_BYTES_MAX:
        raise UsageError("the query is too long", f"Send at most {QUERY_BYTES_MAX} bytes.")
    try:
        pairs = parse_qsl(given.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise UsageError("the query is not UTF-8", "Encode it with %.") from error
    found = _rename({} if route.has_body else route.names, pairs)
    switches = {one.outer_name for one in list_parameters(route.operation) if one.type is bool}
    return {name: value or name in switches or "" for name, value in found.items()}


def _rename(names: Mapping[str, str], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Rename values to their parameters; raise UsageError for unknown or repeated names."""
    found: dict[str, Any] = {}
    for name, value in given:
        if name not in names:
            remedy = list_choices(name, names) or "Remove it."
            raise UsageError(f"unknown parameter {name[:40]!r}", remedy)
        if names[name] in found:
            raise UsageError(f"parameter {name} is given twice", "Give it once.")
        found[names[name]] = value
    return found


def _read_body(route: Route, messages: Sequence[Message]) -> dict[str, Any]:
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > BODY_BYTES_MAX:
        raise UsageError("the body is too large", f"Send at most {BODY_BYTES_MAX} bytes.")
    try:
        value = strict_json(body.decode("utf-8"))
    except RecursionError as error:
        raise UsageError("the body is nested too deeply", "Send a flat object.") from error
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}", "Send one object.") from error
    if not isinstance(value, dict):
        raise UsageError(NO_BODY)
    return _rename(route.names, value.items())


def _act(
    asker: Asker, route: Route, given: dict[str, Any], messages: Sequence[Message]
) -> tuple[int, dict[str, Any]]:
    """Perform the operation as the token's holder; return the status and the answer."""
    sent = _read_body(route, messages) if route.has_body else {}
    arguments = take_arguments(route.operation, {**route.defaults, **given, **sent})
    found: Answer = route.operation(asker, **arguments)
    stats = facts.read_stats(asker.config)
    if found.recalled_bytes:
        facts.count_recalled(asker.config, found.recalled_bytes)
    _, data = redaction.redact_answer("", dict(found.data))
    tokens = estimate_tokens(found.text or json.dumps(data, ensure_ascii=False))
    data["counterfactual"] = facts.counterfactual(tokens, stats["live_bytes"])
    return (409 if found.is_failure else 200), data
