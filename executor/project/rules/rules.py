"""Rules that decide on a change: names, what links may lead to, and what a person has agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from executor.project.rules.names import ObeyedNames


@dataclass(frozen=True, slots=True)
class Consent:
    """A person's consent: held changes, never ones by exact name, whose side to take."""

    exactly: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CommitRules:
    """All that decides: names, what links may lead to, a person's consent if there is."""

    names: ObeyedNames
    shown: Sequence[str] = ()
    consent: Consent | None = None
