"""Facts as text. Texts of agents and files are quoted as data, with a mark on each line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from base.wording import inflect
from ctxmode.errors import describe_empty
from ctxmode.render.highlight import one_line, size
from kb.tokens import BYTES_PER_TOKEN
from memory.facts import Change, Fact, Recall, Restored, Snapshot, Written

NO_SNAPSHOT = "No snapshots yet. The first write of each day creates one."
PATHS_MAX = 20
"""Maximum number of paths in a text; the data has all."""


def snapshots_text(found: Sequence[Snapshot]) -> str:
    """List snapshots, one line each."""
    return "\n".join(map(_snapshot_row, found)) or NO_SNAPSHOT


def recalled_line(found: Recall) -> str:
    """Write how many of the facts a recall shows."""
    return (
        f"pinned {found.pinned_shown} of {found.pinned_total}, "
        f"matching {found.matches_shown} of {found.matches_total}, "
        f"{found.tokens} of {found.budget} tokens ({found.estimator})"
    )


def stats_text(measured: Mapping[str, Any], would: Mapping[str, Any]) -> str:
    """Write the number of facts and recalls, and separately what recalling all would have taken."""
    return f"""\
Measured
  facts: {measured["facts"]} of the project, {measured["users_facts"]} of the user, \
{measured["pinned"]} pinned, {measured["live_bytes"]} bytes in all
  calls: {measured["calls"]}
  recalled: {measured["recalled_bytes"]} bytes, {measured["recalled_tokens"]} tokens \
(bytes / {BYTES_PER_TOKEN})
Hypothetical, in no total
  {would["assumes"]}: {would["tokens"]} tokens once"""


def restored_text(restored: Restored, passed: Sequence[Snapshot], command: str) -> str:
    """Write what a restore brought back, what it lost, and how to undo it."""
    chosen = restored.snapshot
    lines = [f"Skipped {one_line(one.name)}: {one_line(one.problem)}." for one in passed]
    facts = inflect(chosen.facts, "fact")
    lines.append(f"Restored {facts} as of {_minute(chosen.at)} to {restored.path}.")
    if restored.is_readable:
        lines += _list_lost(restored)
        lines.append(f"The previous file is stored. To go back: {command} {restored.replaced}")
    elif restored.replaced:
        lines.append("Later changes are lost: the previous file cannot be read.")
        lines.append(f"It is stored as {restored.replaced_path}")
    else:
        lines.append("There was no previous file.")
    return "\n".join(lines)


def _list_lost(restored: Restored) -> list[str]:
    count = restored.lost_changes
    of = f", with {inflect(count, 'line')} of the ledger" if count else ""
    lines = _list_paths(f"Lost{of}, at these paths:", restored.lost)
    lines += _list_paths("Restored to earlier versions, at these paths:", restored.back)
    if not lines:
        earlier = f"; the ledger ends {inflect(count, 'line')} earlier" if count else ""
        lines = [f"No fact is lost{earlier}."]
    return lines


def _snapshot_row(one: Snapshot) -> str:
    if one.problem:
        return f"{one_line(one.name)}  cannot be restored: {one_line(one.problem)}"
    counts = f"{inflect(one.facts, 'fact')}, {inflect(one.changes, 'line')} of the ledger"
    return f"{one_line(one.name)}  as of {_minute(one.at)}: {counts}, {size(one.bytes)}"


def _list_paths(head: str, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    more = [f"  and {len(paths) - PATHS_MAX} more"] if len(paths) > PATHS_MAX else []
    return [head, *(f"  {one_line(path)}" for path in paths[:PATHS_MAX]), *more]


def _minute(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(at))


TITLE_CHARS = 100
SIMILAR_CHARS = 200


def written_text(written: Written) -> str:
    """Write where a fact is saved, which facts are similar, and how to replace one of them."""
    state = "is already" if written.is_unchanged else "is saved"
    lines = [f"{written.id} {state} at {written.path}."]
    if written.replaced:
        lines.append(f"It replaces {written.replaced}.")
    if written.redactions:
        lines.append(f"{inflect(written.redactions, 'secret')} redacted.")
    if written.similar:
        lines.append("Similar facts; to replace one, pass its ID as supersedes (ctx_memory: id):")
        lines += [
            f"> {one.id} {one.path}: {_head(one.text, SIMILAR_CHARS)}" for one, _ in written.similar
        ]
    return "\n".join(lines)


def list_text(facts: Sequence[Fact]) -> str:
    """List facts, one entry each."""
    return "\n".join(map(_row, facts)) or describe_empty("fact")


def _row(fact: Fact) -> str:
    mark = " (pinned)" if fact.is_pinned else ""
    return f"{fact.id} {fact.path}{mark}\n> {_head(fact.title or fact.text, TITLE_CHARS)}"


def fact_text(fact: Fact) -> str:
    """Write one fact with all its fields."""
    lines = [f"{fact.id} {fact.path}{' (pinned)' if fact.is_pinned else ''}"]
    if fact.title:
        lines.append(f"title: {one_line(fact.title)}")
    lines.append(
        f"by {one_line(fact.agent)}{_session(fact.session)} at {_time(fact.at)}, {fact.category}, "
        f"confidence {fact.confidence:g}, scope {fact.scope}"
    )
    optional = {"why": fact.why, "source": fact.source, "tags": ", ".join(fact.tags)}
    lines += [f"{name}: {one_line(value)}" for name, value in optional.items() if value]
    if fact.expires_at is not None:
        lines.append(f"expires at {_time(fact.expires_at)}")
    return "\n".join([*lines, quote(fact.text)])


def log_text(changes: Sequence[Change], *, with_texts: bool = False) -> str:
    """List lines of the ledger in the given order."""
    lines = []
    for one in changes:
        lines.append(change_line(one))
        if with_texts and one.text:
            lines.append(quote(one.text))
    return "\n".join(lines) or "No changes yet."


def change_line(change: Change) -> str:
    """Write a line of the ledger: operation, path, author, time and reason."""
    why = f": {one_line(change.why)}" if change.why else ""
    return (
        f"{change.seq} {_time(change.at)} {change.operation} {change.path} ({change.branch}) "
        f"{change.fact_id or '-'} by {one_line(change.agent)}{_session(change.session)}, "
        f"{change.category}, confidence {change.confidence:g}{why}"
    )


def primed_text(primed: Mapping[str, Sequence[str]]) -> str:
    """Write how many sections were added, changed, removed or unchanged, and list them."""
    lines = [", ".join(f"{name} {len(paths)}" for name, paths in primed.items())]
    lines += [
        f"{name} {path}" for name, paths in primed.items() for path in paths if name != "same"
    ]
    return "\n".join(lines)


def diff_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the differences of two branches."""
    lines = []
    for row in rows:
        lines.append(f"{row['status']} {row['path']}")
        for mark, text in (("-", row["a"]), ("+", row["b"])):
            if text is not None:
                lines.append(quote(text, mark))
    return "\n".join(lines) or "No differences."


def merge_text(merged: Mapping[str, Any]) -> str:
    """List the merged paths; or, if nothing was merged, the paths that both sides changed."""
    if not merged["conflicts"]:
        taken = inflect(len(merged["merged"]), "path")
        return "\n".join([f"Merged {taken} into {merged['into']}.", *merged["merged"]])
    lines = ["Nothing was merged, because both sides changed these paths:"]
    for one in merged["conflicts"]:
        lines.append(one["path"])
        for side in ("base", "ours", "theirs"):
            text = one[side]
            lines.append(f"{side}:" + (" missing" if text is None else f"\n{quote(text)}"))
    lines.append("Choose with take: ours, theirs, or PATH=ours or PATH=theirs for each path.")
    return "\n".join(lines)


def quote(text: str, mark: str = ">") -> str:
    """Mark each line of a text as data."""
    return "\n".join(f"{mark} {one_line(line)}" for line in text.splitlines())


def _head(text: str, chars: int) -> str:
    plain = one_line(" ".join(text[: 4 * chars].split()))
    return plain if len(plain) <= chars else plain[: chars - 1] + "…"


def _session(session: str) -> str:
    return f" in {one_line(session)}" if session else ""


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at))
