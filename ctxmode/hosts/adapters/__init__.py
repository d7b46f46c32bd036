"""The hosts whose hooks are understood: a module each, named as its host, or a row of `alike`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, ToolCall

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
        def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
            """What to say of a ruling; of events that decide nothing it is asked with a pass."""

        @staticmethod
        def add_context(text: str, event_name: str) -> Answer:
            """What to print to put a text into the conversation, as an event allows it."""


_OTHERS = ("__init__.py", "alike.py")
_ALIKE = ("codebuddy", "droid", "qoder", "qwen-code", "tabnine")
"""Those of `alike`, which is loaded for them alone."""

_MODULES = {name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")}
HOSTS = tuple(
    sorted((*_ALIKE, *(name[:-3].replace("_", "-") for name in _MODULES.difference(_OTHERS))))
)


def find_adapter(host: str) -> Adapter | None:
    """The adapter of a host; None if it is not known."""
    if host not in HOSTS:
        return None
    spoken: Any = None
    if host in _ALIKE:
        from types import SimpleNamespace  # noqa: PLC0415 - for these alone

        from ctxmode.hosts.adapters.similar_hosts import ROWS  # noqa: PLC0415

        base, row = ROWS[host]
        spoken = SimpleNamespace(**(vars(_load(base)) | dict(row)))
    else:
        spoken = _load(host.replace("-", "_"))
    found: Adapter = spoken
    return found


def _load(module: str) -> Any:  # noqa: ANN401 - a module
    name = f"{__name__}.{module}"
    __import__(name)  # `importlib` takes a hook a millisecond
    return sys.modules[name]


def list_events(spoken: Adapter, purpose: Purpose) -> tuple[str, ...]:
    """List the events of a host that are for one purpose; the one to register comes first."""
    return tuple(name for name, its in spoken.EVENTS.items() if its == purpose)
