"""The tools, a module each; a new one is a file here and its name in `NAMES`.

A module is loaded when its tool is first called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ctxmode.mcp.tool import Tool

NAMES = (
    "ctx_execute",
    "ctx_execute_file",
    "ctx_background",
    "ctx_batch_execute",
    "ctx_index",
    "ctx_fetch_and_index",
    "ctx_search",
    "ctx_session",
    "ctx_purge",
    "ctx_changes",
    "ctx_stats",
    "ctx_doctor",
)
STAGED_ONLY = "ctx_changes"


def load(name: str) -> Tool:
    """Return the row of one of `NAMES`."""
    module = importlib.import_module(f"{__name__}.{name.removeprefix('ctx_')}")
    return cast("Tool", module.TOOL)


def list_offered(*, staging: bool = False) -> tuple[str, ...]:
    """List the names of the tools that are served where nobody chose any."""
    return tuple(name for name in NAMES if staging or name != STAGED_ONLY)
