"""The MCP server: lists the tools, validates a call, runs it under its deadline, answers.

Whatever goes wrong in a call is the call's answer; the server lives on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import mcp.types as wire
import trio
from mcp.server.lowlevel import Server
from pydantic import ValidationError

from ctxmode import __version__, crash_report
from ctxmode.app import App
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, unwrap
from ctxmode.mcp import arguments, log_messages, resources
from ctxmode.mcp.client import Client, Context
from ctxmode.mcp.consent import ConsentNeededError
from ctxmode.mcp.projects import Projects, open_projects
from ctxmode.mcp.reply import Reply
from ctxmode.mcp.stdio import exchange_is_over, stdio_streams
from ctxmode.mcp.tool import CallContext, Tool
from ctxmode.mcp.tools import BY_NAME, TOOLS, list_offered
from ctxmode.operations.usage import CallRecord
from ctxmode.render import redaction

INSTRUCTIONS = """\
Run code where the data is and bring back only the answer: ctx_execute for anything that may \
print much, ctx_search for what was kept of it."""


Observe = Callable[[str, str, float], None]
"""Gets each answered call: the tool, "ok" or "error", and the seconds it took."""


def build_server(
    lifespan: Callable[[], AbstractAsyncContextManager[Projects]],
    tools: Sequence[str] = list_offered(),
    observe: Observe | None = None,
) -> Server[Projects]:
    """Build a server for the projects that `lifespan` gives for as long as it runs."""
    desk = _ToolDispatcher({name: BY_NAME[name] for name in tools}, observe)
    server: Server[Projects] = Server(
        "context-mode",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lambda _: lifespan(),
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_prompts=_no_prompts,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
    )
    server.add_notification_handler(
        "notifications/roots/list_changed", wire.NotificationParams, _roots_changed
    )
    server.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, _level_set)
    return server


async def serve_stdio(config: Config, tools: Sequence[str] = list_offered()) -> None:
    """Serve one agent on stdin and stdout until stdin ends."""
    log_messages.configure()
    server = build_server(partial(open_projects, config), tools)
    try:
        async with stdio_streams() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* Exception as group:
        _, others = group.split(exchange_is_over)
        if others is not None:
            raise others from None


def tool_list(tools: Iterable[Tool] = TOOLS) -> list[wire.Tool]:
    """List the tools as `tools/list` shows them."""
    return [
        wire.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=arguments.input_schema(tool.arguments),
            output_schema=dict(tool.output_schema),
            annotations=tool.annotations,
        )
        for tool in tools
    ]


class _ToolDispatcher:
    """Where the calls of one server's tools come in."""

    def __init__(self, tools: Mapping[str, Tool], observe: Observe | None) -> None:
        self._tools = tools
        self._observe = observe

    async def list_tools(
        self, context: Context, params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        del context, params
        return wire.ListToolsResult(tools=tool_list(self._tools.values()))

    async def call_tool(
        self, context: Context, params: wire.CallToolRequestParams
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _fail(f"There is no tool {params.name!r}. Tools: {', '.join(self._tools)}.")
        client = Client(context, params.input_responses)
        wanted = context.lifespan_context.levels.find_levels(context, client.owner)
        if not wanted:
            return await self._time_call(tool, params.arguments or {}, client)
        with log_messages.collect_records() as records:
            result = await self._time_call(tool, params.arguments or {}, client)
        await log_messages.tell(context, records, wanted)
        return result

    async def _time_call(
        self, tool: Tool, given: Mapping[str, Any], client: Client
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        started = trio.current_time()
        try:
            result = await self._answer(tool, given, client)
        except ConsentNeededError as needed:
            return needed.result
        outcome, took_s = "error" if result.is_error else "ok", trio.current_time() - started
        logging.getLogger(__name__).info("%s: %s in %.3f s", tool.name, outcome, took_s)
        if self._observe:
            self._observe(tool.name, outcome, took_s)
        return result

    async def _answer(
        self, tool: Tool, given: Mapping[str, Any], client: Client
    ) -> wire.CallToolResult:
        try:
            valid = tool.arguments.model_validate(given)
        except ValidationError as error:
            return _fail(arguments.explain(tool.name, tool.arguments, error))
        return await _carry_out(tool, valid, client, frozenset(self._tools))


async def _no_prompts(
    context: Context, params: wire.PaginatedRequestParams | None
) -> wire.ListPromptsResult:
    """List no prompts: some hosts ask for them without looking, and take a refusal for a fault."""
    del context, params
    return wire.ListPromptsResult(prompts=[])


async def _level_set(context: Context, params: wire.SetLevelRequestParams) -> wire.EmptyResult:
    context.lifespan_context.levels.set(Client(context).owner, params.level)
    return wire.EmptyResult()


async def _roots_changed(context: Context, params: wire.NotificationParams) -> None:
    del params
    context.lifespan_context.root = None


async def _carry_out(
    tool: Tool,
    given: Any,  # noqa: ANN401 - each tool's own arguments
    client: Client,
    tools: frozenset[str],
) -> wire.CallToolResult:
    deadline_s = tool.deadline_s(given)
    app: App | None = None
    produced = 0
    try:
        with trio.fail_after(deadline_s) as client.scope:
            with client.progress():
                app = await client.app()
                reply = await tool.call(CallContext(app, client, tools), given)
        result, produced = _build_result(reply), reply.produced
    except trio.TooSlowError:
        result = _fail(f"{tool.name} was stopped after {deadline_s:.0f} s. Ask for less at once.")
    except Exception as raised:
        error = unwrap(raised)
        if isinstance(error, ConsentNeededError):
            raise error from None
        expected = isinstance(error, ContextModeError)
        result = _fail(str(error) if expected else crash_report.report(raised))
    if app is not None:
        returned = sum(len(c.text.encode()) for c in result.content if c.type == "text")
        await app.recorder.count(CallRecord(tool.name, bool(result.is_error), produced, returned))
    return result


def _build_result(reply: Reply) -> wire.CallToolResult:
    text, data = redaction.redact_answer(reply.text, reply.data)
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=text), *reply.images],
        structured_content=data,
        is_error=reply.is_error,
    )


def _fail(text: str) -> wire.CallToolResult:
    shown, _ = redaction.redact_answer(text.strip(), {})
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=shown)], is_error=True)
