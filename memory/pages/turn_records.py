"""One turn of a conversation as a line of a buffer: read, made and written, with its bounds.

Hooks load this at every turn's end, so that nothing costly is imported.
"""

from __future__ import annotations

import json

from base.named_tuples import NamedTuple
from memory.texts import cut_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from memory.gate import Gate

USER_BYTES_MAX = 2048
ANSWER_BYTES_MAX = 4096
TOOLS_MAX = 64
TOOL_CHARS = 100
LOOKED_AT = 4
"""How many times its bound of a text is cleaned: what is redacted makes it shorter."""

TURN_MAX = 1 << 53
BUFFER_CAP = "buffer_cap"


class TurnRecord(NamedTuple):
    """One turn, with Contexo's names. `ts` is a text of ISO 8601; texts may be empty."""

    turn: int
    ts: str = ""
    user: str = ""
    assistant: str = ""
    tools: tuple[str, ...] = ()


def make_record(  # noqa: PLR0913 - the fields of a record
    gate: Gate, *, turn: int, ts: str, user: str, assistant: str, tools: Iterable[str]
) -> TurnRecord:
    """Make a record of what a hook told: cleaned first, then cut."""
    named = (gate.clean_head(tool, TOOL_CHARS) for tool in tools)
    return TurnRecord(
        turn,
        ts,
        _fit(gate, user, USER_BYTES_MAX),
        _fit(gate, assistant, ANSWER_BYTES_MAX),
        tuple(dict.fromkeys(filter(None, named)))[:TOOLS_MAX],
    )


def _fit(gate: Gate, text: str, bytes_max: int) -> str:
    return cut_bytes(gate.clean_head(text, bytes_max * LOOKED_AT).strip(), bytes_max)


def write_line(record: TurnRecord) -> bytes:
    """Write a record as a line; what is empty is left out."""
    fields = {
        "ts": record.ts,
        "turn": record.turn,
        "user": record.user,
        "assistant": record.assistant,
        "tools": list(record.tools),
    }
    told = {name: value for name, value in fields.items() if value}
    return (json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def write_mark(dropped: int) -> bytes:
    """Write the line that says how many turns went before those that follow."""
    return b'{"truncated":{"dropped":%d,"reason":"%s"}}\n' % (dropped, BUFFER_CAP.encode())


def read_line(line: bytes) -> TurnRecord | int | None:
    """Read a line: a record, how many turns a mark counts, or None of a damaged one."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    turn = told.get("turn")
    if isinstance(turn, int) and not isinstance(turn, bool) and 0 < turn < TURN_MAX:
        return _read_record(turn, told)
    mark = told.get("truncated")
    dropped = mark.get("dropped") if isinstance(mark, dict) else None
    if not isinstance(dropped, int) or isinstance(dropped, bool):
        return None
    return dropped if 0 < dropped < TURN_MAX else None


def _read_record(turn: int, told: Mapping[str, Any]) -> TurnRecord:
    """Read the fields of a record; others may have written it, so its bounds are kept here, too."""
    tools = told.get("tools")
    named = tools[:TOOLS_MAX] if isinstance(tools, list) else []
    return TurnRecord(
        turn,
        _text(told.get("ts"))[:40],
        cut_bytes(_text(told.get("user")), USER_BYTES_MAX),
        cut_bytes(_text(told.get("assistant")), ANSWER_BYTES_MAX),
        tuple(_text(one)[:TOOL_CHARS] for one in named if _text(one)),
    )


def _text(value: object) -> str:
    """Return a text without what UTF-8 cannot have."""
    return value.encode(errors="ignore").decode() if isinstance(value, str) else ""
