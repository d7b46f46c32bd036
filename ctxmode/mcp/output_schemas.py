"""Pieces of the tools' output schemas, which tell clients the shape of structured content.

Only what every caller may rely on is in here: each word is paid for in every conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, INTEGER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
LIST, OBJECT = {"type": "array"}, {"type": "object"}


def object_schema(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Make the schema of an object."""
    schema = {"type": "object", "properties": dict(properties)}
    return schema | ({"required": list(required)} if required else {})


RUN = {
    "status": TEXT,
    # One type each: some hosts drop a tool whose schema has a list of types.
    "exit_code": {"anyOf": [INTEGER, {"type": "null"}]},
    "stdout": TEXT,
    "output_id": TEXT,
}
BACKGROUND = {"handle": TEXT, "running": FLAG}
QUERIES = {"queries": LIST}
