"""What a transport hands over with a request: who asks, and how that client is asked and told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ctxmode.mcp.protocol import Envelope


class Conversation(Protocol):
    """One request's view of its client. Parameters and results are JSON as the protocol has it."""

    @property
    def envelope(self) -> Envelope:
        """The client's name and capabilities, and the revision that is spoken."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request."""

    @property
    def owner(self) -> str:
        """The client among those of one server; empty over stdio, which has one only."""

    @property
    def holder(self) -> str:
        """The name of the token that let the client in; empty over stdio, which has none."""

    @property
    def project(self) -> Path | None:
        """The folder that the request's address names; None where it names none."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send the client a request and await its result.

        Raises:
            ProtocolError: the client refused, or gave no result of that method.
        """

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification."""
