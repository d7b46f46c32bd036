"""Hosts whose hooks are supported: a module named as its host, or a row of `similar_hosts`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, ToolCall

    class Adapter(Protocol):
        """One host, implemented by a module of this folder."""

        FOLDER_VARIABLES: tuple[str, ...]
        """Documented environment variables with the host's working folder."""

        EVENTS: Mapping[str, Purpose]
        """Its events by name, with their purpose: `setup` registers them, hooks answer them."""

        @staticmethod
        def call(event: Mapping[str, Any]) -> ToolCall | None:
            """Return the call of an event; None if no rule can apply to it."""

        @staticmethod
        def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
            """Return the answer for a ruling; events that decide nothing pass."""

        @staticmethod
        def add_context(text: str, event_name: str) -> Answer:
            """Return the answer that adds a text to the conversation, if the event can."""


_OTHERS = ("__init__.py", "similar_hosts.py")
_SIMILAR = ("codebuddy", "droid", "qoder", "qwen-code", "tabnine")
"""Hosts of `similar_hosts`, which is loaded only for them."""

_MODULES = {name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")}
HOSTS = tuple(
    sorted((*_SIMILAR, *(name[:-3].replace("_", "-") for name in _MODULES.difference(_OTHERS))))
)


def find_adapter(host: str) -> Adapter | None:
    """Return the adapter of a host; None if the host is unknown."""
    if host not in HOSTS:
        return None
    spoken: Any = None
    if host in _SIMILAR:
        from types import SimpleNamespace  # noqa: PLC0415 - only for these

        from ctxmode.hosts.adapters.similar_hosts import ROWS  # noqa: PLC0415

        base, row = ROWS[host]
        spoken = SimpleNamespace(**(vars(_load(base)) | dict(row)))
    else:
        spoken = _load(host.replace("-", "_"))
    found: Adapter = spoken
    return found


def _load(module: str) -> Any:  # noqa: ANN401 - a module
    name = f"{__name__}.{module}"
    __import__(name)  # `importlib` would cost each hook a millisecond
    return sys.modules[name]


def list_events(spoken: Adapter, purpose: Purpose) -> tuple[str, ...]:
    """List the events of a host for one purpose; the one to register comes first."""
    return tuple(name for name, its in spoken.EVENTS.items() if its == purpose)
