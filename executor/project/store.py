"""Change sets that are kept for a person to decide, and the journals of commits under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from executor.project.changes import Change, LeftOut
from executor.project.judging import NameJudge
from executor.project.outcome import Commit


class UnknownChangesError(KeyError):
    """No change set has this id; `candidates` are the nearest that there are."""

    def __init__(self, id: str, candidates: Sequence[str]) -> None:  # noqa: A002 - its name everywhere
        near = f"; there are: {', '.join(candidates)}" if candidates else "; none is kept"
        super().__init__(f"no changes are kept under {id!r}{near}")
        self.id = id
        self.candidates = tuple(candidates)

    def __str__(self) -> str:
        return str(self.args[0])


UnknownChanges = UnknownChangesError


@dataclass(frozen=True, slots=True)
class Kept:
    """A change set that is kept; `left_out` says why each of its paths waits (staged: nothing)."""

    id: str
    project: Path
    label: str
    made: float  # seconds since the epoch
    size: int  # bytes of all contents
    staged: bool
    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]


class Store:
    """Everything kept, below one folder of the user's state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self, project: Path) -> Sequence[Kept]:
        """What is kept for a project, newest first."""
        raise NotImplementedError

    def get(self, id: str) -> Kept:  # noqa: A002
        """What is kept under an id, or under the only one that begins so.

        Raises:
            UnknownChangesError: there is none.
        """
        raise NotImplementedError

    def diff(self, kept: Kept, path: str | None) -> Iterator[str]:
        """Lines of a unified diff against the project as it is now, of all or of one path."""
        raise NotImplementedError

    def apply(
        self,
        id: str,  # noqa: A002
        paths: Sequence[str] = (),
        *,
        names: NameJudge,
        dry_run: bool = False,
        theirs: Sequence[str] = (),
        merge: bool = False,
        shown: Sequence[str] = (),
    ) -> Commit:
        """Apply kept changes with a person's consent: all, or some paths and what is below them.

        Held ones are applied; never ones where a path names them exactly. Any conflict applies
        nothing. `theirs` names conflicting paths to take from the run; `merge` merges lines.

        Raises:
            UnknownChangesError: there is none of this id.
            CommitError: the project can't be written, or is busy. Nothing is applied then.
        """
        raise NotImplementedError

    def drop(self, id: str) -> None:  # noqa: A002
        """Forget a change set.

        Raises:
            UnknownChangesError: there is none of this id.
        """
        raise NotImplementedError

    def expire(self) -> None:
        """Forget what is older than seven days, and the oldest while all are over 4 GiB."""
        raise NotImplementedError

    def recover(self, project: Path) -> None:
        """Complete, or take back, what a commit to this project left when it died."""
        raise NotImplementedError
