"""Writes ctxmode/mcp/tool_list.json, the tools as the protocol lists them, from their rows.

Run it as `python docs/tool_list.py` from the checkout after a tool has changed.
"""

from __future__ import annotations

import json

from ctxmode.mcp import listing, tools
from ctxmode.mcp.tool import describe


def text() -> str:
    """The file, as the rows have it."""
    rows = [describe(tools.load(name)) for name in tools.NAMES]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    listing.FILE.write_text(text(), encoding="utf-8")
