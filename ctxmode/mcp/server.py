"""Answers to requests about projects: tool calls with deadlines, resources, log levels.

An error in a call becomes the call's answer; the server keeps running.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import trio

from ctxmode import crash_report
from ctxmode.app import App
from ctxmode.config.file_names import has_drafts
from ctxmode.errors import ContextModeError, UsageError, unwrap
from ctxmode.mcp import conversation as log_messages
from ctxmode.mcp import names, protocol, resources, tools
from ctxmode.mcp.client import Client, ConsentNeededError, Projects
from ctxmode.mcp.conversation import Conversation
from ctxmode.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LEVELS,
    METHOD_NOT_FOUND,
    ProtocolError,
)
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.tool import CallContext, Tool
from ctxmode.operations.usage import Counts
from ctxmode.render import redaction

# `tool_list.json` has the tools as the protocol lists them, in order; `python docs/tool_list.py`
# writes it from their rows.

# The protocol's structured content repeats the text. Some hosts show both to their model, some
# only the data as JSON: each costs more than the text. A client that is not a known host may be a
# program that reads the data.

CLIENTS_REMEMBERED = 64
_NAMES = re.compile(
    "amp|claude|cline|codex|copilot|crush|cursor|droid|gemini|goose|jetbrains|junie|kiro|opencode"
    "|qwen|roo|vscode|windsurf|zed"
)
"""Words in the names of agents' hosts (`clientInfo.name`)."""


@lru_cache(CLIENTS_REMEMBERED)
def reads_text_only(client: str) -> bool:
    """Return whether a client with this name needs only the text. Its tools are then listed without
    an output schema, which would promise the data."""
    words = re.split(r"[^a-z0-9]+", client.lower().replace("visual studio code", "vscode"))
    return any(map(_NAMES.fullmatch, words))


@dataclass(frozen=True, slots=True)
class Offer:
    """The names of the served tools. Iterating includes tools for pages only if one of the projects
    has pages; each `tools/list` checks again."""

    everywhere: tuple[str, ...]
    with_pages: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        are_pages_begun = any(map(has_drafts, self.projects))
        return iter(self.with_pages if are_pages_begun else self.everywhere)

    @property
    def callable(self) -> tuple[str, ...]:
        """The tools that may be listed. A call without pages returns how to set them up."""
        return self.with_pages or self.everywhere


FILE = Path(__file__).with_name("tool_list.json")
_HANDSHAKE_ONLY = ("ping", "logging/setLevel")
_STATELESS_ONLY = ("server/discover",)


def answer_listing(
    method: str, envelope: protocol.Envelope, tools: Iterable[str]
) -> Mapping[str, Any] | None:
    """Answer a request that needs no project; return None for other requests. Raise ProtocolError
    if the client's revision does not have the method."""
    if method == "initialize":
        return protocol.describe_server(envelope.revision)
    is_stateless = envelope.revision in protocol.STATELESS_REVISIONS
    if method in (_HANDSHAKE_ONLY if is_stateless else _STATELESS_ONLY):
        raise protocol.ProtocolError(protocol.METHOD_NOT_FOUND, "Method not found", method)
    if method == "server/discover":
        return protocol.discover()
    if method == "ping":
        return {}
    if method == "tools/list":
        return list_tools(tools, envelope.client)
    if method == "prompts/list":
        # Some hosts ask for prompts without checking, and treat a refusal as a fault.
        return {"prompts": []}
    return None


def list_tools(names: Iterable[str], client: str) -> dict[str, Any]:
    """List tools as `tools/list` shows them to the client with this name."""
    rows = {row["name"]: row for row in json.loads(FILE.read_bytes())}
    chosen = [_find_row(name, rows) for name in names]
    if reads_text_only(client):
        chosen = [{k: v for k, v in row.items() if k != "outputSchema"} for row in chosen]
    return {"tools": chosen}


def _find_row(name: str, rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Find a tool's row; build it from ours for a name of another system."""
    if name in rows:
        return rows[name]
    from ctxmode.mcp.names import BY_NAME, describe  # noqa: PLC0415 - few ask for them

    return describe(BY_NAME[name], rows[BY_NAME[name].tool])


Observe = Callable[[str, str, float], None]
"""Receives each answered call: the tool, "ok" or "error", and its seconds."""


class Server:
    """A server of tools and stored resources of some projects."""

    def __init__(
        self, projects: Projects, offered: Iterable[str], observe: Observe | None = None
    ) -> None:
        self._projects = projects
        self._offered = frozenset(offered)
        # Answers use our own tool names, also for clients that use another system's names.
        known = (names.BY_NAME.get(name) for name in self._offered)
        self._behind = frozenset(one.tool for one in known if one is not None)
        self._observe = observe

    async def answer(
        self, conversation: Conversation, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Answer one request with its result. Raise ProtocolError if the request is invalid, or the
        server has a defect."""
        try:
            if method == "tools/call":
                return await self._call_tool(conversation, params)
            return await self._answer(conversation, method, params)
        except ProtocolError:
            raise
        except Exception as raised:
            raise ProtocolError(INTERNAL_ERROR, crash_report.report(raised)) from raised

    async def _answer(
        self, conversation: Conversation, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Answer a request that calls no tool."""
        if method == "resources/list":
            return await resources.list_resources(Client(conversation, self._projects))
        if method == "resources/templates/list":
            return resources.list_templates()
        if method == "resources/read":
            uri = _require(params, "uri", str)
            client = Client(conversation, self._projects)
            return await resources.read_resource(client, uri, conversation.envelope.revision)
        if method == "logging/setLevel":
            level = _require(params, "level", str)
            if level not in LEVELS:
                raise ProtocolError(INVALID_PARAMS, f"level must be one of {', '.join(LEVELS)}")
            self._projects.levels.set(conversation.owner, level)
            return {}
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", method)

    def forget_root(self) -> None:
        """Forget the client's working folder; the next call that needs it asks again."""
        self._projects.root = None

    async def _call_tool(
        self, conversation: Conversation, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        name = _require(params, "name", str)
        given = _require({"arguments": {}} | dict(params), "arguments", Mapping)
        answers = _require({"inputResponses": {}} | dict(params), "inputResponses", Mapping)
        if name not in self._offered | self._behind:
            known = ", ".join(sorted(self._offered, key=_order))
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool {name!r}. Tools: {known}.")
        if known_name := names.BY_NAME.get(name):
            name, given = known_name.tool, known_name.translate(given)
        tool = tools.load(name)
        client = Client(conversation, self._projects, answers)
        wanted = self._projects.levels.find_levels(conversation)
        if not wanted:
            return await self._run_call(tool, given, client)
        with log_messages.collect_records() as records:
            result = await self._run_call(tool, given, client)
        await log_messages.tell(conversation, records, wanted)
        return result

    async def _run_call(
        self, tool: Tool, given: Mapping[str, Any], client: Client
    ) -> Mapping[str, Any]:
        """Run a call with valid arguments, and record it and its time."""
        started = trio.current_time()
        try:
            valid = tool.arguments.validate(given)
        except UsageError as error:
            reply = _fail(error.message)
        else:
            try:
                reply = await self._carry_out(tool, valid, client)
            except ConsentNeededError as needed:
                return needed.result
            await client.note_call(tool.name, given, reply.text if reply.is_error else "")
        outcome, took_s = "error" if reply.is_error else "ok", trio.current_time() - started
        logging.getLogger(__name__).info("%s: %s in %.3f s", tool.name, outcome, took_s)
        if self._observe:
            self._observe(tool.name, outcome, took_s)
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": reply.text}, *reply.images],
            "isError": reply.is_error,
        }
        if reply.data and not reads_text_only(client.name):
            result["structuredContent"] = reply.data
        return result

    async def _carry_out(
        self,
        tool: Tool,
        given: Any,  # noqa: ANN401 - each tool's own arguments
        client: Client,
    ) -> Reply:
        """Run a call under its deadline, and count its bytes."""
        deadline_s = tool.deadline_s(given)
        app: App | None = None
        try:
            with trio.fail_after(deadline_s) as client.scope:
                with client.progress():
                    app = await client.app()
                    reply = await tool.call(CallContext(app, client, self._offered), given)
            text, data = redaction.redact_answer(reply.text, reply.data)
            reply = replace(reply, text=text, data=data)
        except trio.TooSlowError:
            reply = _fail(
                f"{tool.name} was stopped after {deadline_s:.0f} s. Ask for less in one call."
            )
        except Exception as raised:
            error = unwrap(raised)
            if isinstance(error, ConsentNeededError):
                raise error from None
            expected = isinstance(error, ContextModeError)
            reply = _fail(str(error) if expected else crash_report.report(raised))
        if app is not None:
            returned = len(reply.text.encode("utf-8", "surrogatepass"))
            counts = Counts(1, int(reply.is_error), reply.produced, returned)
            await app.recorder.count((tool.name, counts))
        return reply


def _order(name: str) -> tuple[int, str]:
    """Return a sort key: our own tools first, in their order."""
    known = name in tools.NAMES
    return (tools.NAMES.index(name) if known else len(tools.NAMES)), name


def _require(params: Mapping[str, Any], name: str, kind: type) -> Any:  # noqa: ANN401 - of that kind
    value = params.get(name)
    if not isinstance(value, kind):
        wanted = "a string" if kind is str else "an object"
        raise ProtocolError(INVALID_PARAMS, f"params.{name} must be {wanted}")
    return value


def _fail(text: str) -> Reply:
    shown, _ = redaction.redact_answer(text.strip(), {})
    return Reply(shown, {}, is_error=True)
