"""Facts over plain HTTP, beside the endpoint of the protocol: a table of routes below `/api/`.

Every answer has CTXone's three numbers, within `counterfactual`.
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
from ctxmode import crash_report
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.mcp.http import gate
from ctxmode.operations import fact_actions as actions
from ctxmode.operations import facts
from ctxmode.operations.ctxone_numbers import counterfactual
from ctxmode.operations.operation import (
    Answer,
    Asker,
    Operation,
    list_parameters,
    take_arguments,
)
from ctxmode.render import redaction
from kb.tokens import estimate_tokens
from memory.facts import DEFAULT_BUDGET, MAIN

PLACE = "api"
BODY_BYTES_MAX = 1024 * 1024
QUERY_BYTES_MAX = 16 * 1024
NO_BODY = 'the body is no object of JSON: send one such as {"text": "…"}'


def _name(*same: str, **others: str) -> Mapping[str, str]:
    """Map what a request may have to the parameters that it gives."""
    return {name: name for name in same} | others


class Route(NamedTuple):
    """One row of the routes."""

    method: str
    path: str  # with one group where an id or a name stands: the operation's first parameter
    operation: Operation
    names: Mapping[str, str] = {}  # what is given, each with its parameter
    has_body: bool = False  # which gives it in place of the query
    defaults: Mapping[str, str] = {}


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
    Route("GET", f"memory/{_ID}/blame", actions.blame_fact, _name("branch")),
    Route("GET", "branches", actions.list_branches),
    Route("POST", "branches", actions.begin_branch, _name("name", **{"from": "base"}),
          has_body=True),
    Route("DELETE", f"branches/{_ID}", actions.drop_branch),
    Route("GET", "diff", actions.diff_branches, _name("a", "b"), defaults={"a": MAIN}),
    Route("POST", "merge", actions.merge_branches, _name("into", "take", branch="name"),
          has_body=True),
    Route("GET", "log", actions.list_changes, _name("branch", "limit")),
    Route("GET", "stats/tokens", actions.show_stats),
)  # fmt: skip
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
        given = _read_query(route, scope["query_string"])
        if wanted:
            given[list_parameters(route.operation)[0].outer_name] = wanted
        messages = await gate.receive_body(receive, BODY_BYTES_MAX) if route.has_body else ()
        asker = Asker(config, agent=f"http:{scope['user'].username}")
        act = partial(_act, asker, route, given, messages)
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
    kinds = {one.outer_name: one.type for one in list_parameters(route.operation)}
    found = _rename({} if route.has_body else route.names, pairs)
    return {name: _read_value(name, kinds[name], value) for name, value in found.items()}


def _rename(names: Mapping[str, str], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Name what is given as the parameters are named; other names are refused, and one twice."""
    found: dict[str, Any] = {}
    for name, value in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise _RefusedError(400, f"{name[:40]!r} is no parameter here", f"Known: {known}.")
        if names[name] in found:
            raise _RefusedError(400, f"{name} stands twice", "Give it once.")
        found[names[name]] = value
    return found


def _read_value(name: str, kind: Any, value: str) -> Any:  # noqa: ANN401 - of that kind
    if kind is int:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            remedy = f"Give a whole number, such as {DEFAULT_BUDGET}."
            raise _RefusedError(400, f"{name}={value[:40]} is no number", remedy)
        return int(value)
    if kind is bool:
        if value not in _SWITCHES:
            raise _RefusedError(400, f"{name}={value[:40]} is neither true nor false")
        return _SWITCHES[value]
    return value


def _read_body(route: Route, messages: Sequence[Message]) -> dict[str, Any]:
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
    return _rename(route.names, value.items())


def _act(
    asker: Asker, route: Route, given: Mapping[str, Any], messages: Sequence[Message]
) -> tuple[int, dict[str, Any]]:
    """Do what is asked for, as the holder of a token; return the status and the answer."""
    if route.has_body:
        given = _read_body(route, messages)
    try:
        arguments = take_arguments(route.operation, {**route.defaults, **given})
        found: Answer = route.operation(asker, **arguments)
        stats = facts.read_stats(asker.config)
    except facts.UnknownError as error:
        raise _RefusedError(404, error.message, error.hint) from error
    except UsageError as error:
        raise _RefusedError(400, error.message, error.hint) from error
    except ContextModeError as error:
        raise _RefusedError(503, error.message, error.hint) from error
    if found.recalled_bytes:
        facts.count_recalled(asker.config, found.recalled_bytes)
    _, data = redaction.redact_answer("", dict(found.data))
    sent = estimate_tokens(found.text or json.dumps(data, ensure_ascii=False))
    data["counterfactual"] = counterfactual(sent, stats["live_bytes"])
    return (409 if found.is_failure else 200), data
