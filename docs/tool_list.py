"""Writes ctxmode/mcp/tool_list.json, the tools as the protocol lists them, from their rows.

Run it as `python docs/tool_list.py` from the checkout after a row of
`ctxmode/mcp/tools/rows.toml` has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from ctxmode.mcp import listing, tools
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
_DROPPED = frozenset((
    "title", "additionalProperties", "$defs",
    "maxLength", "minLength", "maxItems", "minItems", "minimum", "exclusiveMinimum",
))  # fmt: skip


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
        "inputSchema": input_schema(tools.load(name).arguments),
        "outputSchema": output | ({"required": required} if required else {}),
        "annotations": dict(HINTS[row["hints"]]),
    }


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Build the JSON Schema of a tool's arguments, without titles and null alternatives: they cost
    tokens and say nothing, as least values do. One widely used host drops a tool whose schema has
    `additionalProperties`."""
    schema: dict[str, Any] = _slim(model.model_json_schema())
    return schema


def _slim(node: Any, definitions: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        return [_slim(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    known = node.get("$defs", definitions) or {}
    if "$ref" in node:
        return _slim(known[node["$ref"].rpartition("/")[2]], known)
    if "anyOf" in node:
        only = next(option for option in node["anyOf"] if option.get("type") != "null")
        node = {**{k: v for k, v in node.items() if k != "anyOf"}, **only}
    slim = {}
    for key, value in node.items():
        if key in _DROPPED or (key == "default" and value in (None, [], {}, False, "")):
            continue
        if key == "properties":
            slim[key] = {name: _slim(schema, known) for name, schema in value.items()}
        else:
            slim[key] = _slim(value, known)
    return slim


if __name__ == "__main__":
    listing.FILE.write_text(text(), encoding="utf-8")
