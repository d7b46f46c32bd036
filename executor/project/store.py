"""Change sets that are kept for a person to decide, and the journals of commits under way."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from executor.project import apply, keeping
from executor.project.keeping import Kept
from executor.project.locking import key_of, locked
from executor.project.manifest import Change, ChangeSet, LeftOut
from executor.project.outcome import CommitError
from executor.removal import remove

AGE_S_MAX = 7 * 24 * 3600
BYTES_MAX = 4 << 30


class UnknownChangesError(KeyError):
    """No change set has this id; `candidates` are the nearest that there are."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        near = f"; there are: {', '.join(candidates)}" if candidates else "; none is kept"
        super().__init__(f"no changes are kept under {name!r}{near}")
        self.candidates = tuple(candidates)

    def __str__(self) -> str:
        """The words without the quotes that a KeyError has."""
        return str(self.args[0])


UnknownChanges = UnknownChangesError


class Store:
    """Everything kept, below one folder of the user's state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def _sets(self) -> Path:
        return self.folder / "kept"

    def journals(self, project: Path) -> Path:
        """The folder of the journals of a project's commits."""
        return self.folder / "journals" / key_of(project)

    @contextmanager
    def committing(self, project: Path) -> Iterator[None]:
        """Be the only one that commits to a project, after those that died were seen to.

        Raises:
            CommitError: others are at it for too long, or the store can't be written.
        """
        try:
            with locked(self.folder / "locks" / key_of(project)):
                apply.recover(project, self.journals(project))
                yield
        except CommitError:
            raise
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise CommitError(
                f"changes can't be committed ({why}); nothing of them is applied",
                f"see to the room and the permissions in {self.folder} and {project}",
            ) from error

    def keep(
        self,
        changes: ChangeSet,
        kept: Sequence[Change],
        left_out: Sequence[LeftOut],
        label: str,
        staged: bool,
    ) -> str:
        """Keep some changes with their contents; the id to ask for them.

        Raises:
            OSError: the store can't be written.
        """
        name = secrets.token_hex(4)
        size = sum(each.size for each in kept if each.kind == "file" and each.change != "deleted")
        record = changes.record
        new = Kept(
            name,
            record.project,
            label,
            time.time(),
            size,
            staged,
            tuple(kept),
            tuple(left_out),
            record.hidden,
        )
        unfinished = self._sets / f".{name}"
        try:
            keeping.write(unfinished, new, changes.contents)
            os.rename(unfinished, self._sets / name)
        except BaseException:
            remove(unfinished)
            raise
        return name

    def list(self, project: Path) -> Sequence[Kept]:
        """What is kept for a project, newest first."""
        place = Path(os.path.realpath(project))
        found = [kept for kept in map(self._read, self._names()) if kept]
        return sorted((k for k in found if k.project == place), key=lambda k: -k.made)

    def get(self, id: str) -> Kept:  # noqa: A002 - as everyone calls it
        """What is kept under an id, or under the only one that begins so.

        Raises:
            UnknownChangesError: there is none.
        """
        names = self._names()
        fitting = [id] if id in names else [name for name in names if id and name.startswith(id)]
        kept = self._read(fitting[0]) if len(fitting) == 1 else None
        if kept is None:
            raise UnknownChangesError(id, fitting or get_close_matches(id, names) or names[:5])
        return kept

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._sets) if not name.startswith("."))
        except OSError:
            return []

    def _read(self, name: str) -> Kept | None:
        try:
            return keeping.read(self._sets / name)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def drop(self, id: str) -> None:  # noqa: A002
        """Forget a change set.

        Raises:
            UnknownChangesError: there is none of this id.
        """
        self._forget(self.get(id).id)

    def _forget(self, name: str) -> None:
        gone = self._sets / f".{name}"
        os.rename(self._sets / name, gone)
        remove(gone)

    def recover(self, project: Path) -> None:
        """Complete, or take back, what a commit to this project left when it died.

        Raises:
            CommitError: another commit is under way for too long.
        """
        with self.committing(Path(os.path.realpath(project))):
            pass
