"""A session as a bounded list of turns, for whoever distils it: what was asked, the answer, and the
names of the tools. The bounds are Contexo's: a text is cut, and of too many turns the oldest go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory.sessions.model import Message
from memory.texts import cut_bytes

USER_BYTES_MAX = 2048
ANSWER_BYTES_MAX = 4096
TURNS_MAX = 500
TURNS_DROPPED = 100
"""How many of the oldest turns go at once where there are more than `TURNS_MAX`."""

BUFFER_CAP = "buffer_cap"


@dataclass(frozen=True, slots=True)
class CapturedTurn:
    """One turn. `at` is when it began, in seconds since the epoch, None where that is unknown.
    Texts are empty where they are not kept; `tools` are in the order of their first calls."""

    number: int
    at: float | None
    user: str
    answer: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """The turns that are left, and how many went because there were too many."""

    turns: tuple[CapturedTurn, ...]
    dropped: int


def capture_turns(messages: Iterable[Message], prompts: Mapping[int, str]) -> Capture:
    """Gather a session's messages, which are in order, into turns.

    `prompts` says by the numbers of turns what was asked, where a message's own text is gone. What
    came before the first prompt, and turns of which no text or tool is known, are left out.
    """
    by_turn: dict[int, list[Message]] = {}
    for message in messages:
        if message.turn and not message.is_compaction:
            by_turn.setdefault(message.turn, []).append(message)
    turns = [
        _gather(number, listed, prompts.get(number, ""))
        for number, listed in sorted(by_turn.items())
    ]
    told = [turn for turn in turns if turn.user or turn.answer or turn.tools]
    dropped = _count_dropped(len(told))
    return Capture(tuple(told[dropped:]), dropped)


def _count_dropped(count: int) -> int:
    """Count what goes as if turns were added one by one: a hundred whenever there are too many."""
    excess = max(count - TURNS_MAX, 0)
    return -(-excess // TURNS_DROPPED) * TURNS_DROPPED


def _gather(number: int, messages: list[Message], prompt: str) -> CapturedTurn:
    said = {
        role: "\n".join(one.content for one in messages if one.role == role and one.content)
        for role in ("user", "assistant")
    }
    calls = (one.tool_name for one in messages if one.role == "tool_call" and one.tool_name)
    return CapturedTurn(
        number,
        next((one.at for one in messages if one.at is not None), None),
        cut_bytes(said["user"] or prompt, USER_BYTES_MAX),
        cut_bytes(said["assistant"], ANSWER_BYTES_MAX),
        tuple(dict.fromkeys(calls)),
    )


def capture_json(capture: Capture) -> list[dict[str, Any]]:
    """Build a record a turn, with Contexo's names; what is empty is left out. A mark of what was
    dropped comes first."""
    records: list[dict[str, Any]] = []
    if capture.dropped:
        records.append({"truncated": {"dropped": capture.dropped, "reason": BUFFER_CAP}})
    for turn in capture.turns:
        record = {
            "ts": None if turn.at is None else _write_time(turn.at),
            "turn": turn.number,
            "user": turn.user,
            "assistant": turn.answer,
            "tools": list(turn.tools),
        }
        records.append({name: value for name, value in record.items() if value})
    return records


def _write_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
