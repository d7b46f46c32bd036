"""The way out of a cell: by name, through a proxy that stands outside, or not at all."""

from executor.network.allowlist import PROXY_PORT, Allowlist, parse
from executor.network.proxy import Gate, forward, serve

__all__ = ["PROXY_PORT", "Allowlist", "Gate", "forward", "parse", "serve"]
