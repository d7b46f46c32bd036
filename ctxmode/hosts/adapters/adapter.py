"""What the module of a host has. Read by the type checker alone: hooks have no time for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ctxmode.hosts.hooks.calls import Answer, Purpose, Ruling, ToolCall


class Adapter(Protocol):
    """One host. A module of this folder satisfies it."""

    FOLDER_VARIABLES: tuple[str, ...]
    """Where the host documents for its hooks in which folder it works."""

    EVENTS: Mapping[str, Purpose]
    """Its events by name, and what each is for: `setup` registers them, hooks answer them."""

    @staticmethod
    def call(event: Mapping[str, Any]) -> ToolCall | None:
        """The call that an event is about; None if it is none that rules speak of."""

    @staticmethod
    def answer(ruling: Ruling, event_name: str) -> Answer:
        """What to say of a ruling; of events that decide nothing it is asked with a pass."""

    @staticmethod
    def add_context(text: str, event_name: str) -> Answer:
        """What to print to put a text into the conversation, as an event of this name allows it."""
