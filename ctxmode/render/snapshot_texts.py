"""Snapshots of a file of facts as text, and what became of it when one was restored."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ctxmode.render.amounts import inflect, size
from ctxmode.render.highlight import one_line
from memory.facts import Restored, Snapshot

NONE = "There is no snapshot yet: the first write of a day makes one of what was there."
PATHS_MAX = 20
"""How many paths are named; the data has all."""


def snapshots_text(found: Sequence[Snapshot]) -> str:
    """List snapshots, a line each."""
    return "\n".join(map(_row, found)) or NONE


def restored_text(restored: Restored, passed: Sequence[Snapshot], command: str) -> str:
    """Say what a restore brought back, what is lost by it, and how to undo it."""
    chosen = restored.snapshot
    lines = [
        f"{one_line(one.name)} was passed over: {one_line(one.problem)}." for one in passed
    ] + [f"Restored {inflect(chosen.facts, 'fact')} as of {_time(chosen.at)} to {restored.path}."]
    if restored.is_readable:
        lines += _say_lost(restored)
        lines.append(f"The file before is kept; to go back: {command} {restored.replaced}")
    elif restored.replaced:
        lines.append("What was written since is lost: the file before cannot be read.")
        lines.append(f"It is kept as {restored.replaced_path}")
    else:
        lines.append("There was no file before.")
    return "\n".join(lines)


def _say_lost(restored: Restored) -> list[str]:
    count = restored.lost_changes
    of = f", with {inflect(count, 'line')} of the ledger" if count else ""
    lines = _list_paths(f"Lost{of}, where these stood:", restored.lost)
    lines += _list_paths("Back as they were, where these stand:", restored.back)
    if not lines:
        lines = [f"No fact is lost{of and f'; the ledger ends {count} lines earlier'}."]
    return lines


def _row(one: Snapshot) -> str:
    if one.problem:
        return f"{one_line(one.name)}  cannot be restored: {one_line(one.problem)}"
    counts = f"{inflect(one.facts, 'fact')}, {inflect(one.changes, 'line')} of the ledger"
    return f"{one_line(one.name)}  as of {_time(one.at)}: {counts}, {size(one.bytes)}"


def _list_paths(head: str, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    more = [f"  and {len(paths) - PATHS_MAX} more"] if len(paths) > PATHS_MAX else []
    return [head, *(f"  {one_line(path)}" for path in paths[:PATHS_MAX]), *more]


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(at))
