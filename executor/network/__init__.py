"""The way out of a cell: by name, through a proxy that stands outside, or not at all."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from executor.network.allowlist import PROXY_PORT, Allowlist, parse

if TYPE_CHECKING:
    from executor.network.proxy import ProxyGate, forward, serve


def __getattr__(name: str) -> object:
    """The proxy is loaded with the first cell that has a network: hardly any has."""
    if name not in ("ProxyGate", "forward", "serve"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("executor.network.proxy"), name)


__all__ = ["PROXY_PORT", "Allowlist", "ProxyGate", "forward", "parse", "serve"]
