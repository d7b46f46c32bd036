"""The verb `changes`: show, apply or drop changes held for review."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, TypeAlias

from ctxmode.operations.changes import (
    ChangeSets,
    commit_json,
    commit_text,
    list_text,
    summary_text,
    to_json,
)
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.terminal_output import for_review
from executor.project import PREVENTING

ChangeSetId: TypeAlias = Annotated[str, Arg(metavar="ID")]
Paths: TypeAlias = Annotated[tuple[str, ...], Arg(metavar="PATH")]


def list_change_sets(asker: Asker) -> Answer:
    """List the stored change sets, latest first."""
    kept = ChangeSets(asker.config).list()
    text = for_review(list_text(kept, time.time()))
    return Answer({"changes": [to_json(one) for one in kept]}, text)


def show_change_set(
    asker: Asker, change_set: ChangeSetId, path: Annotated[str, Arg(metavar="PATH")] = ""
) -> Answer:
    """Print one set of changes as a diff."""
    changes = ChangeSets(asker.config)
    kept = changes.get(change_set)
    diff = changes.diff(kept, path or None)
    text = diff if path else f"{summary_text(kept)}\n\n{diff}"
    return Answer({**to_json(kept), "diff": diff}, for_review(text.rstrip("\n")))


def apply_change_set(
    asker: Asker,
    change_set: ChangeSetId,
    paths: Paths = (),
    *,
    dry_run: Annotated[bool, Arg("say what would be applied")] = False,
    theirs: Annotated[tuple[str, ...], Arg("take it despite a conflict", "PATH")] = (),
    merge: Annotated[bool, Arg("merge lines where both changed")] = False,
) -> Answer:
    """Apply changes to the project, all or some paths."""
    changes = ChangeSets(asker.config)
    done = changes.apply(
        changes.get(change_set), paths, dry_run=dry_run, theirs=theirs, merge=merge
    )
    is_prevented = any(left.kind in PREVENTING for left in done.left_out)
    text = for_review(commit_text(done, dry_run=dry_run))
    return Answer(commit_json(done), text, is_failure=is_prevented)


def drop_change_sets(
    asker: Asker, change_sets: Annotated[tuple[str, ...], Arg(metavar="ID")]
) -> Iterator[Answer]:
    """Delete change sets."""
    changes = ChangeSets(asker.config)
    for identity in change_sets:
        kept = changes.get(identity)
        changes.drop(kept)
        yield Answer({"dropped": kept.id}, f"dropped {kept.id}")


OPERATIONS: dict[str, Operation] = {
    "list": list_change_sets,
    "show": show_change_set,
    "apply": apply_change_set,
    "drop": drop_change_sets,
}
DEFAULT_ACTION = "list"
