"""What an agent is about to do, and what is to be said to it: the same for every host."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

CallKind = Literal["command", "read", "search", "edit", "fetch", "tool"]
RulingKind = Literal["pass", "advise", "ask", "deny"]


class ToolCall(NamedTuple):
    """One tool call. `values` are what it is about: commands, paths or URLs, by its kind; of a
    search, the folder and the patterns of names below it.

    `cwd` is empty where the event does not say. `whole` says that a file is to be read in full. Of
    a search it says that it shows what is in the files of its folder. `has_our_tools` is false for
    callers that may not have them, such as subagents. `inputs` are all of the tool's arguments.
    """

    kind: CallKind
    name: str
    values: tuple[str, ...]
    cwd: str
    whole: bool = True
    has_our_tools: bool = True
    inputs: Mapping[str, Any] = MappingProxyType({})


class Ruling(NamedTuple):
    """What the host is told: nothing, advice, to ask the person, or not to do it."""

    kind: RulingKind
    text: str = ""


PASS = Ruling("pass")
