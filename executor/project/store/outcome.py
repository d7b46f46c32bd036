"""What came of bringing a run's changes into the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from executor.project.plan.renames import name_renames
from executor.project.store.manifest import Change, LeftOut


class CommitError(OSError):
    """Nothing was brought in: the project can't be written, or it is too much.

    `hint` says what helps.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Commit:
    """What reached the project, what was left out, and under which id it is kept for a person.

    `id` is empty where nothing is kept.
    """

    changed: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]
    id: str


def list_changes(applied: Sequence[Change], pairs: Mapping[str, str]) -> tuple[Change, ...]:
    """Changes that say something: renames as such, not times of folders whose entries changed."""
    touched = {change.path.rpartition("/")[0] for change in applied}
    return tuple(
        change
        for change in name_renames(applied, pairs)
        if not (change.kind == "folder" and change.change == "times" and change.path in touched)
    )
