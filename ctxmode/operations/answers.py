"""Results of searches, indexing and batches: frozen data with a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.run import Answer
    from kb import QueryResult, Source


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answers to all queries, in their order."""

    queries: tuple[QueryResult, ...]
    notes: tuple[str, ...] = ()
    # For a search in all projects, by passage number: project ("" is the user's own store) and
    # source.
    places: Mapping[int, tuple[str, Source]] | None = None

    @property
    def incomplete_sources(self) -> tuple[int, ...]:
        """The sources that are not yet fully indexed, each once."""
        every = (one for result in self.queries for one in result.incomplete_sources)
        return tuple(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """Indexed content, and skipped files with reasons."""

    source: str  # the label to search by, if `labelled`; for a folder its path
    files: int
    sections: int
    bytes: int
    labelled: bool = True
    unchanged: int = 0  # this and the next three count files that were indexed before
    renamed: int = 0
    removed: int = 0
    ignored: int = 0  # by git, and therefore removed from the index
    converted: str | None = None  # conversion of the bytes to text, such as `HTML to Markdown`
    redactions: int = 0  # secrets that were not stored
    terms: tuple[str, ...] = ()  # words to search it for
    skipped: Mapping[str, int] = field(default_factory=dict)  # number of files by reason
    left_out: tuple[Mapping[str, str], ...] = ()  # the same files, each with path and reason
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """One command of a batch, and its result."""

    label: str  # its name in the answer
    command: str
    answer: Answer | None = None  # None if it has not run
    skipped: str = ""  # why it was not run
    language: str = "shell"
    packages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        answer = None if self.answer is None else self.answer.to_json()
        return {"label": self.label, "command": self.command, "skipped": self.skipped} | (
            answer or {"result": None}
        )


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The commands in the order given, and the passages that the queries found in their outputs."""

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
