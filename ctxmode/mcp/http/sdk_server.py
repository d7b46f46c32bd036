"""Our server as a handler of the SDK's server, which implements Streamable HTTP.

Only this module converts between the SDK's models and JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import mcp.types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as SdkServer
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from ctxmode.mcp import protocol
from ctxmode.mcp import server as listing
from ctxmode.mcp.protocol import Envelope, ProtocolError
from ctxmode.mcp.server import Server

Context = ServerRequestContext[Any, Any]

_REQUESTS: Mapping[str, tuple[type[Any], type[BaseModel]]] = {
    "roots/list": (wire.ListRootsRequest, wire.ListRootsResult),
    "elicitation/create": (wire.ElicitRequest, wire.ElicitResult),
}
_NOTIFICATIONS: Mapping[str, type[Any]] = {
    "notifications/progress": wire.ProgressNotification,
    "notifications/message": wire.LoggingMessageNotification,
}


def build_sdk_server(server: Server, tools: Iterable[str]) -> SdkServer[Any]:
    """Build an SDK server that answers like ours."""

    async def answer(
        context: Context, params: BaseModel | None, result: type[BaseModel]
    ) -> BaseModel:
        conversation = _Exchange(context)
        given = {} if params is None else _dump(params)
        try:
            found = listing.answer_listing(context.method, conversation.envelope, tools)
            if found is None:
                found = await server.answer(conversation, context.method, given)
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from error
        if found.get("resultType") == "input_required":
            result = wire.InputRequiredResult
        return result.model_validate(found, by_name=False)

    def answering(result: type[BaseModel]) -> Any:  # noqa: ANN401 - the SDK types each method
        async def answer_with(context: Context, params: BaseModel | None) -> BaseModel:
            return await answer(context, params, result)

        return answer_with

    sdk: SdkServer[Any] = SdkServer(
        protocol.SERVER["name"],
        version=protocol.SERVER["version"],
        instructions=protocol.INSTRUCTIONS,
        on_list_tools=answering(wire.ListToolsResult),
        on_call_tool=answering(wire.CallToolResult),
        on_list_prompts=answering(wire.ListPromptsResult),
        on_list_resources=answering(wire.ListResourcesResult),
        on_list_resource_templates=answering(wire.ListResourceTemplatesResult),
        on_read_resource=answering(wire.ReadResourceResult),
    )
    sdk.add_request_handler(
        "logging/setLevel", wire.SetLevelRequestParams, answering(wire.EmptyResult)
    )
    return sdk


class _Exchange:
    """One request over HTTP, as a `Conversation`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @cached_property
    def envelope(self) -> Envelope:
        session = self._context.session
        client = session.client_params.client_info.name if session.client_params else ""
        known = session.client_capabilities
        return Envelope(self._context.protocol_version, client, _dump(known) if known else {})

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", (self._context.params or {}).get("_meta") or {})

    @cached_property
    def owner(self) -> str:
        conversation = self._request.headers.get("mcp-session-id", "")
        return hashlib.sha256(f"{self.holder}\n{conversation}".encode()).hexdigest()[:12]

    @cached_property
    def holder(self) -> str:
        return str(getattr(self._request.scope.get("user"), "display_name", ""))

    @cached_property
    def project(self) -> Path:
        return cast("Path", self._request.scope["ctxmode.config.project"])

    @property
    def _request(self) -> Request:
        return cast("Request", self._context.request)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        request, result = _REQUESTS[method]
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            answer = await self._context.session.send_request(
                request.model_validate({"method": method, "params": params}, by_name=False),
                result,
                metadata=related,
            )
        except (MCPError, ValidationError) as error:
            raise ProtocolError(protocol.INTERNAL_ERROR, f"the client refused {method}") from error
        return _dump(answer)

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        notification = _NOTIFICATIONS[method].model_validate(
            {"method": method, "params": params}, by_name=False
        )
        await self._context.session.send_notification(notification, self._context.request_id)


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
