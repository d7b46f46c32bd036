"""What decides on a change: names, what links may lead to, and what a person has agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class ObeyedRow(Protocol):
    """What a table of names has on a path: "never" or "held", and why."""

    @property
    def verdict(self) -> str:
        """Never, or held."""

    @property
    def why(self) -> str:
        """The reason, as a result shows it."""


class NameJudge(Protocol):
    """Who says which names are never committed, and which only by a person."""

    def judge(self, path: str) -> ObeyedRow | None:
        """Return the row of a path in the project, if any."""

    def judge_link(self, path: str) -> ObeyedRow | None:
        """Return the row of a path that is a symbolic link, or of what is obeyed through it."""


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person has agreed to: held changes, never ones by exact name, whose side to take."""

    exactly: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CommitRules:
    """What decides: the table of names, what links may lead to, a person's consent if there is."""

    names: NameJudge
    shown: Sequence[str] = ()
    consent: Consent | None = None
