"""What the front door's operations give back: frozen data with a JSON form, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.run import Answer
    from kb import QueryResult


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage lies, of a search of all projects: an empty project is the user's own store,
    `path` is the file that it was read from."""

    project: str
    path: str | None
    indexed_at: float


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """All queries' answers, in the order asked. `places` tells by a passage's number where it lies,
    where that is not the one project."""

    queries: tuple[QueryResult, ...]
    notes: tuple[str, ...] = ()
    places: Mapping[int, Place] | None = None

    @property
    def incomplete_sources(self) -> tuple[int, ...]:
        """The sources of which some is still to be indexed, each once."""
        every = (one for result in self.queries for one in result.incomplete_sources)
        return tuple(dict.fromkeys(every))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """What became searchable, and what was left out and why.

    `source` finds it where `labelled`; of a folder it is the folder's path. `skipped` counts by
    reason what `left_out` lists by path. `unchanged`, `renamed`, `removed` and `ignored` (by git,
    and forgotten) count files of an earlier pass. `redactions` counts secrets that were not stored;
    `terms` are words to search it for.
    """

    source: str
    files: int
    sections: int
    bytes: int
    labelled: bool = True
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    ignored: int = 0
    converted: str | None = None
    redactions: int = 0
    terms: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """One command of a batch. `answer` is None when its turn never came."""

    label: str
    command: str
    answer: Answer | None
    skipped: str = ""

    def to_json(self) -> dict[str, Any]:
        answer = None if self.answer is None else self.answer.to_json()
        return {"label": self.label, "command": self.command, "skipped": self.skipped} | (
            answer or {"result": None}
        )


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """All commands in the order given, and what the queries found in their outputs. `note` says why
    queries were not answered."""

    commands: tuple[CommandAnswer, ...]
    queries: tuple[QueryResult, ...] = ()
    note: str = ""

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
