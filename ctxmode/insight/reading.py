"""Opening a project's files to read them: one that is missing holds nothing, and is not made.

What cannot be read becomes a line of `problems`, and the rest is shown.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from base.stores import Database, Step
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.sessions import list_notices
from ctxmode.operations.usage_schema import STEPS as USAGE_STEPS
from kb import Store, StoreError
from memory.errors import MemoryRoomError
from memory.facts import STEPS as FACT_STEPS
from memory.sessions import STEPS as SESSION_STEPS

if TYPE_CHECKING:
    from memory.pages import Pages

T = TypeVar("T")
READ_S_MAX = 5.0
"""How long one page may read; what it has not read by then is said."""

LOCKED_S_MAX = 1.0
STEPS_AT_ONCE = 10_000
"""After how many of its steps SQLite is asked whether it is late."""


class Reader:
    """The files of one project, for one page. `problems` says what could not be read; of that, and
    of a file that is missing, the answer is None."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.problems: list[str] = []
        self._deadline = time.monotonic() + READ_S_MAX

    def sessions(self, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Look something up in the project's sessions."""
        told = (one for one in list_notices(self.config) if one not in self.problems)
        self.problems.extend(told)
        return self._look(self.config.sessions_file, SESSION_STEPS, "sessions", look)

    def runs(self, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Look something up in the table of runs. A file that only has counts holds none."""
        path = self.config.usage_file
        if path.exists() and not self._has_runs(path):
            return None
        return self._look(path, USAGE_STEPS, "runs", look)

    def facts(self, scope: str, look: Callable[[sqlite3.Connection], T]) -> T | None:
        """Look something up in the facts of the project, or of the user."""
        of_user = scope == "user"
        path = self.config.users_facts_file if of_user else self.config.facts_file
        return self._look(path, FACT_STEPS, "facts", look)

    def store(self, look: Callable[[Store], T]) -> T | None:
        """Look something up in what is kept of outputs, files and pages."""
        if not self.config.database.exists():
            return None
        with self._noting(self.config.database):
            store = Store.open_to_read(self.config.database, deadline=self._deadline)
            with store:
                return look(store)
        return None

    def pages(self, look: Callable[[Pages], T]) -> T | None:
        """Look something up in the project's pages."""
        from ctxmode.operations.pages import open_pages  # noqa: PLC0415 - few pages need git

        with self._noting(), open_pages(self.config, author="insight") as pages:
            return look(pages) if pages.is_ready else None
        return None

    def ask(self, look: Callable[[], T]) -> T | None:
        """Ask an operation that opens what it reads itself."""
        with self._noting():
            return look()
        return None

    def _look(
        self,
        path: Path,
        steps: tuple[Step, ...],
        holds: str,
        look: Callable[[sqlite3.Connection], T],
    ) -> T | None:
        if not path.exists():
            return None
        with (
            self._noting(path),
            closing(
                Database(path, steps, holds=holds, read_only=True, wait_s=LOCKED_S_MAX)
            ) as database,
            database.reading() as db,
        ):
            db.set_progress_handler(lambda: time.monotonic() >= self._deadline, STEPS_AT_ONCE)
            return look(db)
        return None

    def _has_runs(self, path: Path) -> bool:
        from base.stores import connect_read_only  # noqa: PLC0415 - of this alone

        with self._noting(path), closing(connect_read_only(path, wait_s=LOCKED_S_MAX)) as db:
            named = "SELECT 1 FROM sqlite_master WHERE name = 'run'"
            return db.execute(named).fetchone() is not None
        return False

    @contextmanager
    def _noting(self, path: Path | None = None) -> Iterator[None]:
        """Note what fails, in its words, and go on behind the block."""
        known = (ContextModeError, MemoryRoomError, StoreError, sqlite3.Error)
        try:
            yield
        except (*known, OSError, ValueError, zlib.error) as error:
            why = str(error).partition("\n")[0]
            late = time.monotonic() >= self._deadline
            said = f"not read within {READ_S_MAX:.0f} s" if late else why
            self.problems.append(said if path is None or str(path) in said else f"{path}: {said}")
