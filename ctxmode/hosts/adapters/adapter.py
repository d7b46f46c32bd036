"""What the module of a host has. Read by the type checker alone: hooks have no time for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ctxmode.hosts.hooks.calls import Ruling, ToolCall


class Adapter(Protocol):
    """One host. A module of this folder satisfies it."""

    FOLDER_VARIABLES: tuple[str, ...]
    """Where the host documents for its hooks in which folder it works."""

    PRE_TOOL: tuple[str, ...]
    """Its names for the event before a tool runs."""

    SESSION_START: tuple[str, ...]
    """Its names for the event at which a conversation begins; empty if it takes no text there."""

    @staticmethod
    def call(event: Mapping[str, Any]) -> ToolCall | None:
        """The call that an event is about; None if it is none that rules speak of."""

    @staticmethod
    def answer(ruling: Ruling, event_name: str) -> Mapping[str, Any] | None:
        """What to print; None is silence."""

    @staticmethod
    def opening(text: str) -> Mapping[str, Any]:
        """What to print to put a text before the conversation."""
