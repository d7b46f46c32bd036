"""What the front door's operations give back: frozen data with a JSON form, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.run import Answer
    from kb import QueryResult, Source


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """All queries' answers, in the order asked."""

    queries: tuple[QueryResult, ...]
    notes: tuple[str, ...] = ()
    # Of a search of all projects, by a passage's number: its project, or "" for the user's own
    # store, and its source.
    places: Mapping[int, tuple[str, Source]] | None = None

    @property
    def incomplete_sources(self) -> tuple[int, ...]:
        """The sources of which some is still to be indexed, each once."""
        every = (one for result in self.queries for one in result.incomplete_sources)
        return tuple(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """What became searchable, and what was left out and why."""

    source: str  # what finds it, where `labelled`; of a folder its path
    files: int
    sections: int
    bytes: int
    labelled: bool = True
    unchanged: int = 0  # this and the next three: files of an earlier pass
    renamed: int = 0
    removed: int = 0
    ignored: int = 0  # by git, and therefore forgotten
    converted: str | None = None  # how the text was made from the bytes, such as `HTML to Markdown`
    redactions: int = 0  # secrets that were not stored
    terms: tuple[str, ...] = ()  # words to search it for
    skipped: Mapping[str, int] = field(default_factory=dict)  # how many, by reason
    left_out: tuple[Mapping[str, str], ...] = ()  # the same, each with its path and reason
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """One command of a batch, and what came of it."""

    label: str  # how the answer calls it
    command: str
    answer: Answer | None = None  # None: its turn has not come
    skipped: str = ""  # why it never came
    language: str = "shell"
    packages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        answer = None if self.answer is None else self.answer.to_json()
        return {"label": self.label, "command": self.command, "skipped": self.skipped} | (
            answer or {"result": None}
        )


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """All commands in the order given, and what the queries found in their outputs."""

    commands: tuple[BatchCommand, ...]
    queries: tuple[QueryResult, ...] = ()
    note: str = ""  # why queries were not answered

    @property
    def ok(self) -> bool:
        ran = all(c.answer is not None and c.answer.result.ok for c in self.commands)
        return ran and not self.note

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "commands": [command.to_json() for command in self.commands],
            "queries": [asdict(query) for query in self.queries],
            "note": self.note,
        }
