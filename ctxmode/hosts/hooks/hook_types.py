"""Tool calls of agents and the answers to them, independent of the host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from base.named_tuples import NamedTuple


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Parse JSON. Numbers may have any size; bytes that are not text are replaced.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return json.loads(text.removeprefix("\ufeff"), parse_int=_number)


def _number(digits: str) -> int | float:
    """An integer; one of absurd length as the float that is next, which may be infinite."""
    return int(digits) if len(digits) < 1000 else float(digits)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

CallKind: TypeAlias = "Literal['command', 'read', 'search', 'edit', 'fetch', 'tool']"
RulingKind: TypeAlias = "Literal['pass', 'advise', 'ask', 'deny']"
Purpose: TypeAlias = (
    "Literal['judge', 'open', 'prompt', 'turn', 'compact', 'end', 'act', 'asked', 'answered']"
)
"""Purpose of an event of a host.

`judge`: a tool is about to run, and the rules decide. `open`: a conversation begins and accepts a
text. The others are for the record of sessions and decide nothing. `prompt`: a prompt was sent, or
the agent accepts a text at another time. `compact`: the conversation is about to be compacted.
`turn`, `end`, `act`: a turn or the session ended, a tool has run. `asked` and `answered` are only
for the capture of turns: a prompt was sent, the agent answered.
"""


class ToolCall(NamedTuple):
    """One tool call."""

    kind: CallKind
    name: str
    values: tuple[str, ...]  # commands, paths or URLs; for a search its folder and name patterns
    cwd: str  # empty if the event does not have it
    whole: bool = True  # the whole file is read; a search shows the files' contents
    has_our_tools: bool = True  # false for callers that may lack them, such as subagents
    inputs: Mapping[str, Any] = MappingProxyType({})  # all arguments of the tool
    edits: tuple[str, ...] = ()  # files in a patch within a command
    is_typed_into: bool = False  # starts a prompt that later gets text without a hook event
    instead: Mapping[str, Any] | None = None  # arguments that do nothing, to replace the call's

    def subjects(self) -> list[tuple[CallKind, str]]:
        """List the judged values with their kinds: the call's values, then its edits."""
        values: list[tuple[CallKind, str]] = [(self.kind, value) for value in self.values]
        return [*values, *(("edit", path) for path in self.edits)]


class Ground(NamedTuple):
    """Place of a call: its project, the user's home and environment."""

    project: str
    home: str
    environ: Mapping[str, str]


class Ruling(NamedTuple):
    """Decision for the host: pass, give advice, ask the user, or deny."""

    kind: RulingKind
    text: str = ""
    instead: Mapping[str, Any] | None = None  # the call's


class Refusal(str):
    """Answer for hosts that do not read JSON: the text goes to stderr, and the exit code is 2."""

    __slots__ = ()


Answer: TypeAlias = "Mapping[str, Any] | str | Refusal | None"
"""Answer of a hook: JSON or plain text on stdout, a refusal by its exit code, or nothing."""
PASS = Ruling("pass")


def refuse(ruling: Ruling) -> Ruling:
    """Turn a question into a refusal that explains it; return other rulings unchanged."""
    if ruling.kind != "ask":
        return ruling
    why = "This needs the user's approval, and this host cannot ask. Ask the user to do it by hand."
    return ruling._replace(kind="deny", text=f"{ruling.text}\n{why}")


def answer_by_code(ruling: Ruling, event_name: str) -> Refusal | None:
    """Refuse by exit code 2 and stderr; return nothing for all else, including advice."""
    del event_name
    said = refuse(ruling)
    return Refusal(said.text) if said.kind == "deny" else None


def add_as_text(text: str, event_name: str) -> Answer:
    """Return plain text, which the host adds to its context."""
    del event_name
    return text
