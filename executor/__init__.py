"""One request becomes one result: guard, place in a sandbox, run, collect, keep."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.caller import Caller
    from executor.engine.engine import Completed, Engine, LanguageReport
    from executor.errors import RequestError, SandboxError, SandboxUnavailableError
    from executor.model import Isolation, Layer, Limits, Request, Result, Status, Stream, Usage
    from executor.opening import open_engine
    from executor.service import LocalEngine
    from executor.sessions.background import Background, Backgrounds, open_backgrounds
    from executor.sessions.registry import SessionLimits
    from executor.settings import Settings

# Each name is loaded at its first use: all of them at once add 90 ms to `context-mode run`, because
# the spawner starts while the rest is loaded.
_MODULES = {
    name: module
    for module, names in {
        "sessions.background": "Background Backgrounds open_backgrounds",
        "caller": "Caller",
        "engine.engine": "Completed Engine LanguageReport",
        "errors": "RequestError SandboxError SandboxUnavailableError",
        "model": "Isolation Layer Limits Request Result Status Stream Usage",
        "opening": "open_engine",
        "service": "LocalEngine",
        "sessions.registry": "SessionLimits",
        "settings": "Settings",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"executor.{_MODULES[name]}"), name)


__all__ = [
    "Background",
    "Backgrounds",
    "Caller",
    "Completed",
    "Engine",
    "Isolation",
    "LanguageReport",
    "Layer",
    "Limits",
    "LocalEngine",
    "Request",
    "RequestError",
    "Result",
    "SandboxError",
    "SandboxUnavailableError",
    "SessionLimits",
    "Settings",
    "Status",
    "Stream",
    "Usage",
    "open_backgrounds",
    "open_engine",
]
