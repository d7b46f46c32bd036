"""Change sets held for review: listing, showing, applying and dropping them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from base.wording import inflect
from ctxmode.config.engine_settings import engine_settings
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError, command, describe_empty, unknown_id
from ctxmode.render.highlight import age, size
from ctxmode.render.results import CHANGE_MARKS
from executor import LeftOut, readable
from executor.project import (
    PREVENTING,
    Change,
    ChangeStore,
    Commit,
    CommitError,
    Kept,
    UnknownChangesError,
    find_paths,
)

APPLIED, NOT_APPLIED = "applied", "nothing was applied, as the project is now"


class ChangeSets:
    """The change sets of one project."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._store = ChangeStore(config.state_dir / "changes")

    def list(self) -> Sequence[Kept]:
        """List all stored change sets, latest first."""
        return self._store.list(self._config.project)

    def get(self, identity: str) -> Kept:
        """Find the change set with this id, or the only one whose id begins with it. Raise
        UsageError if it does not exist, or belongs to another project."""
        try:
            kept = self._store.get(identity)
        except UnknownChangesError as error:
            raise self._word_unknown(error, identity) from error
        if kept.project != self._config.project:
            raise UsageError(
                f"change set {kept.id} belongs to {kept.project}", f"Add --project {kept.project}."
            )
        return kept

    def _word_unknown(self, error: UnknownChangesError, identity: str) -> UsageError:
        found = [name for name in error.candidates if name.startswith(identity)]
        if len(found) == 1:  # another version wrote it
            return UsageError(str(error), "Open it with the version that stored it.")
        return unknown_id("change set", identity, found, is_empty=not self.list())

    def diff(self, kept: Kept, path: str | None) -> str:
        """Build a unified diff against the current project; raise UsageError if `path` did not
        change."""
        if path is not None:
            _check_paths(kept, [path])
        return "\n".join(self._store.diff(kept, path))

    def apply(
        self,
        kept: Kept,
        paths: Sequence[str],
        *,
        dry_run: bool = False,
        theirs: Sequence[str] = (),
        merge: bool = False,
    ) -> Commit:
        """Apply all of a change set, or some of its paths and the files below them.

        Raises:
            UsageError: a path did not change.
            ContextModeError: the project cannot be written; nothing was applied.
        """
        _check_paths(kept, [*paths, *theirs])
        settings, _ = engine_settings(self._config)
        try:
            return self._store.apply(
                kept.id, paths, names=settings.names, dry_run=dry_run, theirs=theirs, merge=merge
            )
        except CommitError as error:
            raise ContextModeError(f"nothing was applied: {error}", "Try again later.") from error

    def drop(self, kept: Kept) -> None:
        """Drop a change set."""
        self._store.drop(kept.id)


def _check_paths(kept: Kept, paths: Sequence[str]) -> None:
    """Raise UsageError if a path did not change."""
    known = {change.path for change in kept.changes} | {left.path for left in kept.left_out}
    for path in paths:
        if not find_paths(path.strip("/"), known):
            raise UsageError(
                f"{path!r} is not in change set {kept.id}",
                f"List its paths: {command(f'changes show {kept.id}')}",
            )


def list_text(kept: Sequence[Kept], now: float) -> str:
    """Write a line for each change set."""
    if not kept:
        return describe_empty("change set")
    return "\n".join(
        f"{one.id}  {age(now - one.made):>4}  {size(one.size):>9}  {_counts(one)}  {one.label}"
        for one in kept
    )


def summary_text(kept: Kept) -> str:
    """Describe one change set, and why each of its paths was held."""
    why = {left.path: left for left in kept.left_out}
    lines = [f"{kept.id}: {_counts(kept)}, {size(kept.size)}, by {kept.label}"]
    for change in kept.changes:
        left = why.pop(change.path, None)
        lines.append(f"  {_line(change)}{f'  [{left.kind}: {left.reason}]' if left else ''}")
    lines += [f"  ? {readable(left.path)}  [{left.kind}: {left.reason}]" for left in why.values()]
    return "\n".join(lines)


def commit_text(done: Commit, *, dry_run: bool) -> str:
    """Describe what was applied, or would be, or why nothing was."""
    prevented = [left for left in done.left_out if left.kind in PREVENTING]
    if prevented:
        return "\n".join([f"{NOT_APPLIED}:", *map(_describe_left_out, prevented)])
    verb = "would apply" if dry_run else APPLIED
    changes = inflect(len(done.changed), "change")
    lines = [f"{verb} {changes}", *(f"  {_line(c)}" for c in done.changed)]
    if done.left_out:
        lines += ["not applied:", *map(_describe_left_out, done.left_out)]
    return "\n".join(lines)


def to_json(kept: Kept) -> dict[str, Any]:
    """Build the JSON of a change set; times are seconds since the epoch, sizes are bytes."""
    return {
        "id": kept.id,
        "label": kept.label,
        "made": kept.made,
        "bytes": kept.size,
        "staged": kept.staged,
        "changes": [_change_json(change) for change in kept.changes],
        "not_committed": [_build_left_out_json(left) for left in kept.left_out],
    }


def commit_json(done: Commit) -> dict[str, Any]:
    """Build the JSON of the applied and the left-out changes."""
    return {
        "applied": [_change_json(change) for change in done.changed],
        "not_committed": [_build_left_out_json(left) for left in done.left_out],
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "path": readable(change.path),
        "change": change.change,
        "kind": change.kind,
        "mode": f"{change.mode & 0o777:o}",
        "bytes": change.size,
        "source": readable(change.source),
        "sha256": change.sha256,
        "before_sha256": change.before_sha256,
    }


def _build_left_out_json(left: LeftOut) -> dict[str, Any]:
    return {"path": readable(left.path), "kind": left.kind, "reason": left.reason}


def _describe_left_out(left: LeftOut) -> str:
    return f"  {readable(left.path)}: {left.reason}"


def _counts(kept: Kept) -> str:
    return f"{'staged' if kept.staged else 'held'}, {inflect(len(kept.changes), 'change')}"


def _line(change: Change) -> str:
    renamed = f"{readable(change.source)} -> " if change.source else ""
    return f"{CHANGE_MARKS.get(change.change, '?')} {renamed}{readable(change.path)}"
