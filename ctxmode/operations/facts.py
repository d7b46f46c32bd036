"""Opening of the facts of a project and of its user as one `Memory`, for all interfaces."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

from base.secrets import find_secrets
from base.stores import find_last_copy
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError
from kb.tokens import BYTES_PER_TOKEN
from memory.errors import BadInputError, MemoryRoomError
from memory.facts import (
    RESTORE,
    Author,
    ClosedBranchError,
    FactStore,
    Memory,
    Recall,
    UnknownBranchError,
    UnknownFactError,
    count_erased,
    is_less,
    read_mark,
    recall_json,
    recalling,
)

PERSON = "user"  # the author name of the user who types a command; clients cannot use it
STORE_WAIT_S = 0.25
TOOL = "ctx_memory"  # the row of the usage table that counts recalls of all callers


class UnknownError(UsageError):
    """Unknown fact or branch."""


@contextmanager
def translate_fact_errors() -> Iterator[None]:
    """Raise errors of `memory.facts` as errors of ctxmode."""
    try:
        yield
    except ClosedBranchError as error:
        raise UsageError(error.message, error.remedy) from error
    except (UnknownFactError, UnknownBranchError) as error:
        raise UnknownError(error.message, error.remedy) from error
    except BadInputError as error:
        raise UsageError(error.message, error.remedy) from error
    except MemoryRoomError as error:
        raise ContextModeError(error.message, error.remedy) from error


@contextmanager
def open_memory(
    config: Config, author: Author | None = None, *, to_write: str = ""
) -> Iterator[Memory]:
    """Open the files of facts that exist. `to_write` ("project" or "user") names the one to create
    if it is missing.

    Raises:
        ContextModeError: a file cannot be opened.
        UsageError: the requested fact is missing or invalid.
    """
    if to_write:
        prepare_storage(config)
    with translate_fact_errors(), ExitStack() as opened:

        def open_store(path: Path, name: str) -> FactStore | None:
            if not (path.exists() or to_write == name or find_last_copy(path)):
                return None
            by = name_restore(name)
            return opened.enter_context(FactStore(path, find_secrets=find_secrets, restored_by=by))

        memory = Memory(
            open_store(config.facts_file, "project"),
            open_store(config.users_facts_file, "user"),
            author,
        )
        before = _read_marks(memory)
        yield memory
        gone = _find_gone(config, memory, before)
    if gone:
        _take_out(config, gone)


_Marks: TypeAlias = Mapping[str, str]


def _read_marks(memory: Memory) -> _Marks:
    """Read the mark of each file's ledger; skip files that cannot be read."""
    marks: dict[str, str] = {}
    for store in memory.stores:
        with suppress(MemoryRoomError), store.database.reading() as db:
            marks[str(store.path)] = read_mark(db)
    return marks


def _find_gone(config: Config, memory: Memory, before: _Marks) -> Mapping[str, bool]:
    """Find the files in which facts were removed or replaced, by mirror name; the value is whether
    a text was erased."""
    gone: dict[str, bool] = {}
    for store in memory.stores:
        path = str(store.path)
        with suppress(MemoryRoomError), store.database.reading() as db:
            now = read_mark(db)
            old = before.get(path, now)
            if now != old and is_less(db, old):
                name = "user facts" if path == str(config.users_facts_file) else "facts"
                gone[name] = count_erased(now) != count_erased(old)
    return gone


def _take_out(config: Config, gone: Mapping[str, bool]) -> None:
    """Remove facts from the search index; those erased in the user's own file, from the indexes of
    all projects. If forgotten facts cannot be removed now, the next search does it."""
    from ctxmode.operations import mirroring  # noqa: PLC0415 - loads the kb

    for name, is_erased in gone.items():
        with nullcontext() if is_erased else suppress(ContextModeError):
            mirroring.take_out(
                config,
                (name,),
                seconds=mirroring.ERASING_S if is_erased else mirroring.REMOVAL_S,
                is_everywhere=is_erased and name == mirroring.USERS_FACTS,
            )


def name_restore(scope: str) -> str:
    """Return the command that restores a file of facts: the project's, or the user's."""
    return f"{RESTORE} --scope user" if scope == "user" else RESTORE


def find_facts_file(config: Config, scope: str) -> Path:
    """Return the file of facts of a scope, which may not exist yet."""
    return config.users_facts_file if scope == "user" else config.facts_file


def find_author(config: Config, client: str, owners: Sequence[str] = ()) -> Author:
    """Return the author for an MCP client: its agent, and that agent's session if one is active."""
    from ctxmode.hosts.registry import name_agent  # noqa: PLC0415 - a command has no client

    agent = name_agent(client)
    if agent == PERSON:
        return Author("mcp")
    return Author(agent, _find_session(config, agent, owners))


def _find_session(config: Config, agent: str, owners: Sequence[str]) -> str:
    """Find the agent's only active session; empty if none or several are active."""
    if not config.sessions_file.exists():
        return ""
    from ctxmode.operations.session_store import open_session_store  # noqa: PLC0415
    from memory.sessions import list_sessions  # noqa: PLC0415

    path, home = config.sessions_file, str(config.home)
    with (
        suppress(MemoryRoomError, sqlite3.Error),
        open_session_store(path, "", home, read_only=True, wait_s=STORE_WAIT_S) as store,
        store.database.reading() as db,
    ):
        found = list_sessions(db, agent=agent, status="active", limit=2, owners=owners)
        return found[0].id if len(found) == 1 else ""
    return ""


def count_recalled(config: Config, recalled_bytes: int) -> None:
    """Count a recall outside of tool calls, which the server counts itself."""
    from ctxmode.operations.usage import Counts, record  # noqa: PLC0415 - few recall

    counts = Counts(1, produced=recalled_bytes, returned=recalled_bytes)
    with suppress(sqlite3.Error, OSError):
        record(config.usage_file, (TOOL, counts))


def read_stats(config: Config) -> dict[str, int]:
    """Measure stored facts, from sums that each write updates, and recalls. Tokens are estimated
    from bytes, with the estimate that claims least."""
    from ctxmode.operations.usage import read_rows  # noqa: PLC0415 - few ask

    counts = [_count(path) for path in (config.facts_file, config.users_facts_file)]
    try:
        rows = [row for _, tool, row in read_rows(config.usage_file) if tool == TOOL]
    except sqlite3.Error as error:
        raise ContextModeError(f"{config.usage_file}: {error}") from error
    recalled_bytes = sum(row.produced for row in rows)
    return {
        "facts": counts[0][0],
        "users_facts": counts[1][0],
        "pinned": sum(one[1] for one in counts),
        "live_bytes": sum(one[2] for one in counts),
        "calls": sum(row.calls for row in rows),
        "recalled_bytes": recalled_bytes,
        "recalled_tokens": recalled_bytes // BYTES_PER_TOKEN,
    }


def _count(path: Path) -> tuple[int, int, int]:
    """Return the facts of a file, the pinned ones among them, and their bytes."""
    if not path.exists():
        return 0, 0, 0
    with (
        translate_fact_errors(),
        FactStore(path, find_secrets=find_secrets) as store,
        store.database.reading() as db,
    ):
        marks = dict(db.execute("SELECT name, value FROM mark"))
        (pinned,) = db.execute("SELECT count(*) FROM live WHERE pinned").fetchone()
    return int(marks["live_facts"]), int(pinned), int(marks["live_bytes"])


# Numbers and recalls in the format of CTXone.


def counterfactual(sent_tokens: int, live_bytes: int) -> dict[str, Any]:
    """Build the size of an answer with all live facts, under both names."""
    flat = -(-live_bytes // BYTES_PER_TOKEN)
    return recalling.counterfactual(sent_tokens, flat) | ctx_numbers(sent_tokens, flat)


def ctx_numbers(sent: int, flat: int) -> dict[str, Any]:
    """Build the three numbers under CTXone's names."""
    return {
        "ctx_tokens_sent": sent,
        "ctx_tokens_estimated_flat": flat,
        "ctx_savings_ratio": recalling.counterfactual(sent, flat)["ratio"],
    }


def ctxone_json(found: Recall) -> dict[str, Any]:
    """Build a recall in CTXone's format. `pinned_count` counts the pinned facts that are shown."""
    rows = recall_json(found)["facts"]
    names = ("path", "title", "full_match", "pinned", "score")
    return {
        "results": [{name: row[name] for name in names} | {"body": row["text"]} for row in rows],
        "pinned_count": found.pinned_shown,
        "topic_matches": found.matches_shown,
    } | ctx_numbers(found.tokens, found.live_tokens)
