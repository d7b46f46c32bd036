"""One file of facts, open: that of a project, or the user's own. Several processes write at once.

For one thread at a time; each opens its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory.database import WAIT_S, Database
from memory.errors import StoreUnavailableError
from memory.facts.schema import STEPS
from memory.facts.snapshots import (
    FactDatabase,
    LastSnapshot,
    find_last_snapshot,
    is_damage,
    is_lost,
    tell_damage,
    verify_structure,
)
from memory.gate import FindSecrets, Gate

if TYPE_CHECKING:
    from pathlib import Path

    from base.plain_files import StrPath


class FactStore:
    """The facts of one file. Functions of this room take the connection that `database.reading()`
    and `database.writing()` give."""

    def __init__(
        self,
        path: StrPath,
        *,
        find_secrets: FindSecrets,
        clock: Callable[[], float] = time.time,
        create: bool = True,
        wait_s: float = WAIT_S,
    ) -> None:
        """Open the file, made where it is missing. `find_secrets` finds what must not be stored.
        A damaged file is never replaced by a new one: its last snapshot is read instead, which
        `notices` tell, and writing is refused.

        Raises:
            StoreUnavailableError: it is missing and not to be made, or cannot be opened; or it is
                damaged, and there is no snapshot.
        """
        self.clock = clock
        self.database: Database = self._open(path, create=create, wait_s=wait_s)
        self.gate = Gate(find_secrets)

    @property
    def notices(self) -> tuple[str, ...]:
        """List what a person should know of the file, such as that it is read-only."""
        return self.database.notices

    def __enter__(self) -> FactStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self.database.close()

    def fall_back(self, error: BaseException) -> bool:
        """Go on from the last snapshot, if an error says that the file is damaged. Tell whether
        that was done; the call that failed can then be made again."""
        path = self.database.path
        last = find_last_snapshot(path)
        is_own = str(error).startswith(f"{path}:")
        if isinstance(self.database, LastSnapshot) or last is None:
            return False
        if not (is_own and is_damage(error)):
            return False
        self.database.close()
        self.database = _open_snapshot(path, last)
        return True

    def _open(self, path: StrPath, *, create: bool, wait_s: float) -> Database:
        last = find_last_snapshot(path)
        if last is not None and is_lost(path):
            return _open_snapshot(path, last)
        try:
            database = FactDatabase(
                path,
                STEPS,
                holds="facts",
                create=create,
                wait_s=wait_s,
                settings={"synchronous": "FULL"},  # what was acknowledged outlives a loss of power
                may_replace=False,
            )
            database.clock = self.clock
            try:
                verify_structure(database)
            except BaseException:
                database.close()
                raise
        except StoreUnavailableError as error:
            if last is None or not is_damage(error):
                raise
            return _open_snapshot(path, last)
        return database


def _open_snapshot(path: StrPath, snapshot: Path) -> LastSnapshot:
    database = LastSnapshot(snapshot, STEPS, holds="facts", read_only=True)
    database.damaged = path
    database.notices = (tell_damage(path, snapshot),)
    return database
