"""Network access of a cell: to allowed names, through a proxy outside the cell, or none."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from executor.network.allowlist import PROXY_PORT, Allowlist, parse

if TYPE_CHECKING:
    from executor.network.proxy import ProxyGate, forward, serve


def __getattr__(name: str) -> object:
    """Load the proxy with the first cell that has a network, as few cells have one."""
    if name not in ("ProxyGate", "forward", "serve"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("executor.network.proxy"), name)


__all__ = ["PROXY_PORT", "Allowlist", "ProxyGate", "forward", "parse", "serve"]
