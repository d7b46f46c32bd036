"""The facts of a project and of its user: the two files opened, and which of them a call means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError
from memory.errors import BadInputError, MemoryRoomError
from memory.facts.errors import UnknownBranchError, UnknownFactError
from memory.facts.model import MAIN, Fact
from memory.facts.reading import find_fact
from memory.facts.snapshots import find_last_snapshot
from memory.facts.store import FactStore
from policy.secrets import find_secrets


@dataclass(frozen=True, slots=True)
class Facts:
    """The files that are open, that of the project first; each is missing where nothing was
    remembered in it."""

    project: FactStore | None
    user: FactStore | None

    @property
    def stores(self) -> tuple[FactStore, ...]:
        """List the files that are open, the nearest first."""
        return tuple(one for one in (self.project, self.user) if one is not None)

    @property
    def notices(self) -> tuple[str, ...]:
        """List what a person should know of the files."""
        return tuple(notice for store in self.stores for notice in store.notices)

    def find(self, wanted: str, branch: str = MAIN) -> tuple[FactStore, Fact]:
        """Return a fact by its id or path, and the file that holds it: the nearest that does.

        Raises:
            UnknownFactError: none does.
        """
        for store in self.stores:
            own = branch if store is self.project else MAIN
            with suppress(UnknownFactError), store.database.reading() as db:
                return store, find_fact(db, own, wanted)
        raise UnknownFactError(
            f"no fact {wanted[:80]!r} is remembered",
            "See those that are with `context-mode memory list`.",
        )


@contextmanager
def translate_fact_errors() -> Iterator[None]:
    """Raise errors of the room of facts as errors of the front door."""
    try:
        yield
    except (BadInputError, UnknownFactError, UnknownBranchError) as error:
        raise UsageError(error.message, error.remedy) from error
    except MemoryRoomError as error:
        raise ContextModeError(error.message, error.remedy) from error


@contextmanager
def open_facts(config: Config, *, to_write: str = "") -> Iterator[Facts]:
    """Open the files that exist. `to_write` names the one that is made where it is missing:
    "project" or "user".

    Raises:
        ContextModeError: a file cannot be opened; UsageError: what was asked for is not there.
    """
    if to_write:
        prepare_storage(config)
    with translate_fact_errors(), ExitStack() as opened:

        def open_store(path: Path, name: str) -> FactStore | None:
            if not (path.exists() or to_write == name or find_last_snapshot(path)):
                return None
            return opened.enter_context(FactStore(path, find_secrets=find_secrets))

        yield Facts(
            open_store(config.facts_file, "project"), open_store(config.users_facts_file, "user")
        )
