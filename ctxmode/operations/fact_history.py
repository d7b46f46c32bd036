"""History of facts: authors of changes, and branches with comparison and merging."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from base.wording import list_choices
from ctxmode.config.locations import Config
from ctxmode.errors import UsageError
from ctxmode.operations import facts
from ctxmode.operations.fact_actions import (
    Branch,
    FactId,
    Prefix,
    describe,
    open_facts,
)
from ctxmode.operations.operation import Answer, Arg, Asker, check_limit
from ctxmode.render import fact_texts
from memory.facts import (
    ALL,
    MAIN,
    SIDES,
    Change,
    Fact,
    FactStore,
    Memory,
    UnknownFactError,
    compare_branches,
    create_branch,
    drop_branch,
    find_status,
    list_branches,
    merge_branch,
)

LOG_LIMIT = 20
BranchName: TypeAlias = Annotated[str, Arg(metavar="NAME")]


def blame_fact(asker: Asker, fact: FactId, *, branch: Branch = "") -> Answer:
    """Show who wrote a fact, when and why, latest first."""
    with open_facts(asker) as memory:
        changes = memory.blame(fact, branch=branch or MAIN)
    data = {"path": changes[0].path if changes else fact, **_describe_changes(changes)}
    return Answer(data, fact_texts.log_text(changes, with_texts=True))


def trace_fact(asker: Asker, query: str, *, branch: Branch = "") -> Answer:
    """Show who wrote the fact that best matches a query."""
    with open_facts(asker) as memory:
        found = memory.search(query, branch=branch or MAIN, limit=1)
        if not found:
            raise UnknownFactError(
                f"no fact matches {query[:80]!r}",
                "List them: context-mode memory list",
            )
    return blame_fact(asker, found[0][0].path, branch=branch)


def list_changes(
    asker: Asker,
    *,
    branch: Branch = "",
    prefix: Prefix = "",
    limit: Annotated[int, Arg("up to N changes (default: 20)", "N")] = 0,
) -> Answer:
    """List changes of facts, latest first."""
    most = check_limit(limit) or LOG_LIMIT
    with open_facts(asker) as memory:
        changes = memory.log(branch=branch, prefix=prefix, limit=most)
    return Answer(_describe_changes(changes), fact_texts.log_text(changes))


def _describe_changes(changes: list[Change]) -> dict[str, Any]:
    return {"changes": [describe(one) for one in changes]}


TAIL_EVERY_S = 0.5
FRESH_S = 2.0  # seconds after a write in which a file is read again: its mtime has no finer steps


def follow_changes(asker: Asker, *, branch: Branch = "") -> Iterator[Answer]:
    """Show changes from now on, until interrupted."""
    with open_facts(asker) as memory:
        memory.log(branch=branch, limit=1)  # raises an error if the branch is unknown
        _, marks = memory.log_after({})
    asker.tell(["showing changes from now on, until interrupted"])
    seen: tuple[Any, ...] = ()
    while True:
        files = _look_at(asker.config)
        if files != seen:
            # Opened again each time, because open files cannot be restored.
            with facts.open_memory(asker.config) as memory:
                changes, marks = memory.log_after(marks, branch=branch)
            for change in changes:
                line = fact_texts.change_line(change)
                yield Answer(describe(change), line, on_one_line=True)
        seen = files
        time.sleep(TAIL_EVERY_S)


def _look_at(config: Config) -> tuple[Any, ...]:
    """Describe the files of facts and their logs, to detect changes."""
    found: list[Any] = []
    for path in (config.facts_file, config.users_facts_file):
        for part in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):
                state = part.stat()
                is_fresh = time.time() - state.st_mtime < FRESH_S
                found.append((part, state.st_ino, state.st_size, state.st_mtime_ns))
                found += [time.monotonic()] if is_fresh else []
    return tuple(found)


def keep_branches(
    asker: Asker,
    name: BranchName = "",
    *,
    base: Annotated[str, Arg("start from branch NAME (default: main)", "NAME", ("--from",))] = MAIN,
    drop: Annotated[bool, Arg("drop the branch: it accepts no more writes")] = False,
) -> Answer:
    """List branches, or create or drop one."""
    if drop and not name:
        raise UsageError("--drop: missing branch", "Name the branch to drop.")
    if name and not drop:
        return begin_branch(asker, name, base=base)
    with open_facts(asker, "project") as memory:
        if drop:
            drop_branch(_find_project(memory), name, memory.author)
            data = {"name": name, "state": "dropped"}
            return Answer(data, f"{name} is dropped; its history stays.")
        rows = [describe(one, "fork_seq") for one in list_branches(_find_project(memory))]
    lines = [f"{row['name']}  {row['state']}, {row['changes']} changes" for row in rows]
    return Answer({"branches": rows}, "\n".join(lines))


def begin_branch(asker: Asker, name: str, *, base: str = MAIN) -> Answer:
    """Create a branch."""
    with open_facts(asker, "project") as memory:
        made = create_branch(_find_project(memory), name, parent=base, author=memory.author)
    data = {"name": made.name, "parent": made.parent, "state": made.state}
    return Answer(data, f"Created branch {made.name} from {made.parent}.")


def diff_branches(
    asker: Asker, a: Annotated[str, Arg(metavar="A")], b: Annotated[str, Arg(metavar="B")]
) -> Answer:
    """Show the differences of two branches, by path."""
    _require_name("diff", b)
    with open_facts(asker, "project") as memory:
        found = compare_branches(_find_project(memory), a, b)
    rows = [
        {"path": path, "status": find_status(old, new), "a": _text(old), "b": _text(new)}
        for path, old, new in found
    ]
    return Answer({"a": a, "b": b, "paths": rows}, fact_texts.diff_text(rows))


def merge_branches(
    asker: Asker,
    name: BranchName,
    *,
    into: Annotated[str, Arg("default: main", "NAME")] = MAIN,
    take: Annotated[tuple[str, ...], Arg(
        "resolve conflicts: ours, theirs, or PATH=ours; repeatable", "SIDE"
    )] = (),
) -> Answer:  # fmt: skip
    """Merge the changes of a branch; nothing if there are conflicts."""
    _require_name("merge", name)
    sides = _read_sides(take)
    with open_facts(asker, "project") as memory:
        store = _find_project(memory)
        merged, conflicts = merge_branch(store, name, into=into, take=sides, author=memory.author)
    rows = [
        {"path": path, **{side: _text(fact) for side, fact in there.items()}}
        for path, there in conflicts
    ]
    data = {"into": into, "merged": list(merged), "conflicts": rows}
    return Answer(data, fact_texts.merge_text(data), is_failure=bool(rows))


def _require_name(action: str, branch: str) -> None:
    if not branch:
        raise UsageError(f"{action}: missing branch", "Give the branch's name as the id.")


def _read_sides(given: tuple[str, ...]) -> dict[str, Any]:
    """Read which side resolves a conflict: ours, theirs, or PATH=ours."""
    take = {}
    for one in given:
        path, _, side = one.rpartition("=")
        if side not in SIDES:
            raise UsageError(f"invalid side {side[:40]!r}", list_choices(side, SIDES))
        take[path or ALL] = side
    return take


def _find_project(memory: Memory) -> FactStore:
    assert memory.project is not None  # it was opened to write
    return memory.project


def _text(fact: Fact | None) -> str | None:
    return None if fact is None else fact.text
