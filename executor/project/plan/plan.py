"""The rules of a commit, and the changes to apply, each with what has to be there by then."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from executor.project.git.taking import Taking
from executor.project.rules.names import ObeyedNames
from executor.project.store.manifest import Change, LeftOut
from executor.project.view.record import EntryState


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to apply, folders first, and what is left out.

    `present` tells what is at each applied path now, `states` what was at the start. `kept` are
    the changes whose contents wait for a person. `units` numbers the repositories in whose working
    trees paths lie; `takings` are those that are taken, by number, before their files are, and
    `kept_takings` those that wait.
    """

    project: Path
    changes: tuple[Change, ...]
    present: Mapping[str, os.stat_result | None]
    states: Mapping[str, EntryState]
    # What the project's own folder is to have if its entries change; -1: folders get new times.
    top_mtime_ns: int = -1
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[Change, ...] = ()
    units: Mapping[str, int] = field(default_factory=dict)
    takings: tuple[tuple[int, Taking], ...] = ()
    kept_takings: tuple[Taking, ...] = ()
