"""One file of facts, open: that of a project, or the user's own. Several processes write at once.

For one thread at a time; each opens its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory.database import WAIT_S, Database
from memory.facts.schema import STEPS
from memory.gate import FindSecrets, Gate

if TYPE_CHECKING:
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
        A damaged file is never replaced by a new one.

        Raises:
            StoreUnavailableError: it is missing and not to be made, or cannot be opened.
        """
        self.database = Database(
            path,
            STEPS,
            holds="facts",
            create=create,
            wait_s=wait_s,
            settings={"synchronous": "FULL"},  # what was acknowledged outlives a loss of power
            may_replace=False,
        )
        self.gate = Gate(find_secrets)
        self.clock = clock

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
