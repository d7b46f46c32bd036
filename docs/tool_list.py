"""Writes ctxmode/mcp/tool_list.json, the tools as the protocol lists them, from their rows.

Run it as `python docs/tool_list.py` from the checkout after a row of
`ctxmode/mcp/tools/rows.toml` has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxmode.mcp import server, tools
from ctxmode.mcp.tool import Arguments
from runtimes import LANGUAGES

# What the protocol takes for granted where a tool says nothing: every conversation pays for a hint.
DEFAULT_HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
HINTS: Mapping[str, Mapping[str, bool]] = {
    "runs": {"openWorldHint": False},
    "adds": {"destructiveHint": False, "openWorldHint": False},
    "fetches": {"destructiveHint": False},
    "reads": {"readOnlyHint": True, "openWorldHint": False},
    "forgets": {"openWorldHint": False, "idempotentHint": True},
}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    # One type each: some hosts drop a tool whose schema has a list of types.
    "whole?": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "object": {"type": "object"},
}
TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "milliseconds": {"type": "number"},
    "object": {"type": "object"},
    "texts": {"items": {"type": "string"}, "type": "array"},
    "queries": {"items": {"type": "string"}, "type": "array"},
}


def text() -> str:
    """The file, as the rows have it."""
    rows = [describe(name, row) for name, row in tools.read_rows().items()]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def describe(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as `tools/list` shows it."""
    languages = ", ".join(language.name for language in LANGUAGES)
    returns = row.get("returns", {})
    output = {"type": "object", "properties": {n.rstrip("*"): KINDS[k] for n, k in returns.items()}}
    required = [n.rstrip("*") for n in returns if n.endswith("*")]
    return {
        "name": name,
        "description": row["description"].replace("{languages}", languages),
        "inputSchema": input_schema(row.get("arguments", {})),
        "outputSchema": output | ({"required": required} if required else {}),
        "annotations": dict(HINTS[row["hints"]]),
    }


def input_schema(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Build the JSON Schema of a tool's arguments, without what costs tokens and says nothing, as
    least values. One widely used host drops a tool whose schema has `additionalProperties`."""
    required = Arguments("", rows).required
    properties = {name: _describe_argument(row) for name, row in rows.items()}
    return {
        "properties": properties,
        **({"required": required} if required else {}),
        "type": "object",
    }


def _describe_argument(row: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(TYPES[row.get("type", "text").removesuffix("?").removeprefix("strict ") or "text"])
    if "one_of" in row:
        found["enum"] = list(row["one_of"])
    if "of" in row:
        found = {"items": input_schema(row["of"]), "type": "array"}
    if row.get("default") not in (None, [], {}, False, ""):
        found["default"] = row["default"]
    if "description" in row:
        found["description"] = row["description"]
    if "le" in row:
        found["maximum"] = row["le"]
    return dict(sorted(found.items()))


if __name__ == "__main__":
    server.FILE.write_text(text(), encoding="utf-8")
