"""Opening the facts of a project and of its user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError
from memory.errors import BadInputError, MemoryRoomError
from memory.facts.errors import UnknownBranchError, UnknownFactError
from memory.facts.memory import Memory
from memory.facts.snapshots import find_last_snapshot
from memory.facts.store import FactStore
from policy.secrets import find_secrets


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
def open_facts(config: Config, *, to_write: str = "") -> Iterator[Memory]:
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

        yield Memory(
            open_store(config.facts_file, "project"), open_store(config.users_facts_file, "user")
        )
