"""What a scripted model does, and what it was shown meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["turn", "summary", "side"]


@dataclass(frozen=True, slots=True)
class Call:
    """One step: call a tool. `tool` is its name, or the end of one that a host has prefixed.

    `context` is how many tokens the model says that it has read by then, 0 for few: a host that
    finds them too many compacts the conversation."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    context: int = 0


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that a host offers. `namespace` is the group that it is in, empty for most hosts;
    `is_freeform` says that it takes a text in place of arguments."""

    name: str
    namespace: str = ""
    is_freeform: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name

    def fits(self, wanted: str) -> bool:
        """Whether it is the wanted tool, with or without a host's prefix."""
        name = self.full_name.lower()
        wanted = wanted.lower()
        return name == wanted or (name.endswith(wanted) and not name[-len(wanted) - 1].isalnum())


@dataclass(frozen=True, slots=True)
class Turn:
    """What a host sends to the model: the tools it offers, and the tool results so far. `beside` is
    what its hooks say after the last of them, in a message of their own."""

    model: str
    tools: tuple[Tool, ...]
    results: tuple[str, ...]
    is_streamed: bool
    beside: str = ""

    def find(self, wanted: str) -> Tool | None:
        """The wanted tool; an exact name before one with a prefix."""
        fitting = [tool for tool in self.tools if tool.fits(wanted)]
        exact = [tool for tool in fitting if tool.name == wanted]
        return next(iter(exact or fitting), None)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What the model answers: a call of a tool that the host offers, by an id of its own."""

    id: str
    tool: Tool
    arguments: Mapping[str, Any]


Answer = ToolUse | str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that an answer says it took. `cached` are a part of `input`."""

    input: int
    cached: int
    output: int

    @property
    def uncached(self) -> int:
        return self.input - self.cached

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Sent:
    """One response of the endpoint: no other has its id, nor its token counts."""

    id: str
    answer: Answer
    usage: Usage


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response. A `turn` is of the conversation, a `summary` asks for one of it,
    and `side` requests are for titles and checks."""

    kind: Kind
    body: str
    sent: Sent


@dataclass(frozen=True, slots=True)
class Deferral:
    """How a model gets a tool that a host does not offer at once: by a `search` for its name, and
    where even then it is not offered, by a call that goes `through` another tool."""

    search: Callable[[str], Call]
    through: Callable[[Call], Call] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What came of one call. `text` is its result as the model was shown it, None if the host never
    told; `beside` what a hook said to the model. A call is begun once the model made it."""

    call: Call
    is_offered: bool
    is_begun: bool
    text: str | None
    beside: str = ""

    @property
    def words(self) -> str:
        """All that the model was told of the call."""
        return f"{self.text or ''}{self.beside}"

    @property
    def bytes_shown(self) -> int:
        return len((self.text or "").encode())


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that a host told its model in one run.

    `seconds_to_first` runs from the endpoint's start of time to the first request of the
    conversation. `exchanges` are all requests, in their order.
    """

    first_tools: Sequence[str]
    shown: Sequence[Shown]
    exchanges: Sequence[Exchange]
    seconds_to_first: float | None

    @property
    def requests(self) -> Sequence[str]:
        """All bodies, side requests included."""
        return [one.body for one in self.exchanges]

    def count(self, kind: Kind) -> int:
        """How many requests were of a kind."""
        return sum(one.kind == kind for one in self.exchanges)

    def was_shown(self, text: str) -> bool:
        """Whether any request had a text, as JSON writes it."""
        return any(text in body for body in self.requests)
