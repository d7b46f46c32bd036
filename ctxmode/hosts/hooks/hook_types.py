"""What an agent is about to do, and what is to be said to it: the same for every host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from base.named_tuples import NamedTuple


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """The value that a text stands for. Numbers of any size are read, bytes that are no text
    replaced.

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
"""What an event of a host is for.

`judge`: a tool is about to run, and the rules are asked. `open`: a conversation begins, and takes a
text. The others are for the record of sessions, and decide nothing. `prompt`: a prompt was sent, or
another moment at which the agent takes a text. `compact`: the conversation is about to be
compacted. `turn`, `end` and `act`: a turn or the session ended, a tool has run. `asked` and
`answered` are for the capture of turns alone: a prompt was sent, and the agent answered.
"""


class ToolCall(NamedTuple):
    """One tool call."""

    kind: CallKind
    name: str
    values: tuple[str, ...]  # commands, paths or URLs; of a search the folder and patterns of names
    cwd: str  # empty where the event does not say
    whole: bool = True  # a file is read in full; a search shows what is in the files
    has_our_tools: bool = True  # false for callers that may not have them, such as subagents
    inputs: Mapping[str, Any] = MappingProxyType({})  # all of the tool's arguments
    edits: tuple[str, ...] = ()  # the files that a patch within a command names
    is_typed_into: bool = False  # it begins a prompt, to which the host hands text without asking
    instead: Mapping[str, Any] | None = None  # arguments that do nothing, to replace the call's

    def subjects(self) -> list[tuple[CallKind, str]]:
        """List what is judged: each value with its kind, then each edit."""
        values: list[tuple[CallKind, str]] = [(self.kind, value) for value in self.values]
        return [*values, *(("edit", path) for path in self.edits)]


class Ground(NamedTuple):
    """Where a call is made: its project, the person's home and environment."""

    project: str
    home: str
    environ: Mapping[str, str]


class Ruling(NamedTuple):
    """What the host is told: nothing, advice, to ask the person, or not to do it."""

    kind: RulingKind
    text: str = ""
    instead: Mapping[str, Any] | None = None  # the call's


class Refusal(str):
    """An answer for hosts that read no JSON: the text goes to stderr, and the exit code is 2."""

    __slots__ = ()


Answer: TypeAlias = "Mapping[str, Any] | str | Refusal | None"
"""What a hook says: JSON or plain text on stdout, a refusal by its exit code, or nothing."""
PASS = Ruling("pass")


def refuse(ruling: Ruling) -> Ruling:
    """The same ruling, with a question turned into a refusal that says so."""
    if ruling.kind != "ask":
        return ruling
    why = (
        "A person's consent is needed and cannot be asked for here; ask for it to be done by hand."
    )
    return ruling._replace(kind="deny", text=f"{ruling.text}\n{why}")


def answer_by_code(ruling: Ruling, event_name: str) -> Refusal | None:
    """A refusal by exit code 2 and stderr; silence for all else, advice included."""
    del event_name
    said = refuse(ruling)
    return Refusal(said.text) if said.kind == "deny" else None


def add_as_text(text: str, event_name: str) -> Answer:
    """Plain text, which the host adds to its context."""
    del event_name
    return text
