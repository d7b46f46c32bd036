"""The hosts whose hooks are understood: a module each, named as its host."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxmode.hosts.adapters.adapter import Adapter
    from ctxmode.hosts.hooks.calls import Purpose

_OTHERS = ("__init__.py", "adapter.py")
_MODULES = {name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")}
HOSTS = tuple(sorted(name[:-3].replace("_", "-") for name in _MODULES.difference(_OTHERS)))


def find_adapter(host: str) -> Adapter | None:
    """The adapter of a host; None if it is not known."""
    if host not in HOSTS:
        return None
    name = f"{__name__}.{host.replace('-', '_')}"
    __import__(name)  # `importlib` takes a hook a millisecond
    loaded: Any = sys.modules[name]
    spoken: Adapter = loaded
    return spoken


def list_events(spoken: Adapter, purpose: Purpose) -> tuple[str, ...]:
    """List the events of a host that are for one purpose; the one to register comes first."""
    return tuple(name for name, its in spoken.EVENTS.items() if its == purpose)
