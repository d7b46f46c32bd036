"""The hosts whose hooks are understood: a module each, named as its host, or a row of `alike`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxmode.hosts.adapters.adapter import Adapter
    from ctxmode.hosts.hooks.calls import Purpose

_OTHERS = ("__init__.py", "adapter.py", "alike.py")
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

        from ctxmode.hosts.adapters.alike import ROWS  # noqa: PLC0415

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
