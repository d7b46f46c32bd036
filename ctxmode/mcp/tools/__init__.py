"""The tools: each a row of `rows.toml` and a function.

A function's module is loaded at the first call of its tool.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxmode.mcp.tool import Tool

_FILE = os.path.join(os.path.dirname(__file__), "rows.toml")
with open(_FILE, encoding="utf-8") as _rows:
    # Hooks need only the names, and have no time to parse all rows.
    NAMES = tuple(re.findall(r"^\[(ctx_\w+)\]$", _rows.read(), re.MULTILINE))
STAGED_ONLY = "ctx_changes"
PAGES_ONLY = "ctx_pages"


@cache
def load(name: str) -> Tool:
    """Load one of `NAMES`."""
    from ctxmode.mcp.tool import build_tool  # noqa: PLC0415 - hooks need only names

    row, own = read_rows()[name], name.removeprefix("ctx_")
    module = importlib.import_module(f"{__name__}.{row.get('module', own)}")
    return build_tool(name, row, getattr(module, name))


@cache
def read_rows() -> Mapping[str, Any]:
    """Read the rows of all tools, by name."""
    import tomllib  # noqa: PLC0415 - as above

    with open(_FILE, "rb") as file:
        return tomllib.load(file)


def list_offered(*, staging: bool = False, pages: bool = False) -> tuple[str, ...]:
    """List the names of the default tools: some only if runs are staged, or pages are set up."""
    absent = {STAGED_ONLY: not staging, PAGES_ONLY: not pages}
    return tuple(name for name in NAMES if not absent.get(name))
