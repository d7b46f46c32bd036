"""The tools, a row each; a new one is a file here and its name in `TOOLS`."""

from __future__ import annotations

from ctxmode.mcp.tool import Tool
from ctxmode.mcp.tools import (
    background,
    batch_execute,
    changes,
    doctor,
    execute,
    execute_file,
    fetch_and_index,
    index,
    purge,
    search,
    stats,
)

TOOLS: tuple[Tool, ...] = tuple(
    module.TOOL
    for module in (
        execute,
        execute_file,
        background,
        batch_execute,
        index,
        fetch_and_index,
        search,
        purge,
        changes,
        stats,
        doctor,
    )
)
BY_NAME = {tool.name: tool for tool in TOOLS}
STAGED_ONLY = changes.TOOL.name


def list_offered(*, staging: bool = False) -> tuple[str, ...]:
    """List the names of the tools that are served where nobody chose any."""
    return tuple(name for name in BY_NAME if staging or name != STAGED_ONLY)
