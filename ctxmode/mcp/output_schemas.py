"""The shape of each tool's structured content, as `outputSchema` tells it to clients.

Only what every caller may rely on is in here: each word is paid for in every conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, INTEGER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
LIST = {"type": "array"}


def _object(properties: Mapping[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict(properties)}
    return schema | ({"required": list(required)} if required else {})


RUN = {
    "status": TEXT,
    # One type each: models whose schemas know no list of types lose the tool otherwise.
    "exit_code": {"anyOf": [INTEGER, {"type": "null"}]},
    "stdout": TEXT,
    "output_id": TEXT,
}
BACKGROUND = {"handle": TEXT, "running": FLAG}
QUERIES = {"queries": LIST}

OUTPUT_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "ctx_execute": _object(RUN | BACKGROUND),
    "ctx_execute_file": _object(RUN, ("status", "exit_code")),
    "ctx_background": _object(RUN | BACKGROUND),
    "ctx_batch_execute": _object({"ok": FLAG, "commands": LIST} | QUERIES, ("ok", "commands")),
    "ctx_index": _object({"source": TEXT, "sections": INTEGER}, ("source", "sections")),
    "ctx_fetch_and_index": _object({"pages": LIST}, ("pages",)),
    "ctx_search": _object(QUERIES, ("queries",)),
    "ctx_purge": _object({"sources": INTEGER}, ("sources",)),
    "ctx_changes": _object({"changes": LIST, "applied": LIST}),
    "ctx_stats": _object({"tools": {"type": "object"}, "total": {"type": "object"}}, ("total",)),
    "ctx_doctor": _object({"languages": {"type": "object"}}, ("languages",)),
}
