"""Files in a folder that a worker hands back of a run; see `fleet.handed_files`."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from executor.engine.engine import Completed, Spool
from executor.model import MIB, Artifact, Result, Status
from executor.profile import ProjectAccess
from executor.project.store.change_set_folder import CONTENTS, Kept
from executor.project.store.manifest import Change
from executor.project.store.store import ChangeStore, UnknownChangesError
from executor.project.view.tree import FOLDER_FLAGS, Tree
from executor.run.artifacts import safe_name
from executor.spawner.stand_ins import MARK
from fleet import forms
from fleet.forms import FormError
from fleet.handed_files import (
    ARTIFACTS_FOLDER,
    CHANGED_FILE,
    OUTCOME_FILE,
    STREAM_FILES,
    output_bytes_max,
)
from fleet.model import Order, Outcome, has_content

NAME_CHARACTERS_MAX = 60
"""Of what an artifact is called, behind its number: `safe_name` takes it as it is."""


def hand_over(completed: Completed, order: Order, worker: str, changes: Path, out: Path) -> None:
    """Write what came of an order into an empty folder; streams and artifacts are moved there.

    `worker` is the worker's name. `changes` is the folder of what its engine has kept: the run's
    change set is copied from there, and is the caller's to drop.

    Raises:
        OSError: there is no room, or something is gone.
    """
    room = output_bytes_max(order.limits)
    for name, spool in zip(
        STREAM_FILES, (completed.stdout_spool, completed.stderr_spool), strict=True
    ):
        if spool is not None:
            room -= _move_stream(spool, out / name, room)
    artifacts = _move_artifacts(completed.result.artifacts, out / ARTIFACTS_FOLDER)
    result = replace(
        completed.result, artifacts=artifacts, changes_id=None, output_id=None, persists=False
    )
    kept = _find_kept(completed.result.changes_id, changes)
    if order.profile.project is ProjectAccess.COMMIT:  # the front's commit tells them
        result = replace(result, changed_files=(), changed_files_omitted=0)
    changed = () if kept is None else tuple(_tell(c) for c in kept.changes if not _stands_in(c))
    try:
        form = forms.encode(Outcome(order.run_id, worker, result, changed))
    except FormError:
        if not changed:
            raise
        form = forms.encode(Outcome(order.run_id, worker, _too_much(result, len(changed))))
    else:
        if kept is not None and any(map(has_content, changed)):
            _copy_contents(changes / "kept" / kept.id / CONTENTS, changed, out / CHANGED_FILE)
    (out / OUTCOME_FILE).write_bytes(form)


def _move_stream(spool: Spool, target: Path, room: int) -> int:
    """Move a whole stream, or its first `room` bytes; how many."""
    try:
        spool.move_to(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        target.write_bytes(spool.read())
        spool.delete()
    size = target.stat().st_size
    if size > room:  # what came until the program was ended
        os.truncate(target, max(0, room))
    return min(size, max(0, room))


def _move_artifacts(artifacts: Iterable[Artifact], folder: Path) -> tuple[Artifact, ...]:
    """The artifacts by their names in `folder`, where they have been moved."""
    moved = []
    for number, one in enumerate(artifacts, 1):
        if one.path is None:
            moved.append(one)
            continue
        name = f"{number:02d}-{safe_name(one.name)[-NAME_CHARACTERS_MAX:]}"
        folder.mkdir(mode=0o700, exist_ok=True)
        shutil.move(one.path, folder / name)
        moved.append(replace(one, path=name))
    return tuple(moved)


def _find_kept(changes_id: str | None, changes: Path) -> Kept | None:
    """Find what the run changed, as the engine keeps it; None if that is nothing.

    Raises:
        OSError: it is gone.
    """
    if changes_id is None:
        return None
    try:
        return ChangeStore(changes).get(changes_id)
    except UnknownChangesError as error:
        raise OSError(errno.ENOENT, f"what the run changed is gone: {error}") from error


def _stands_in(change: Change) -> bool:
    """Whether it only stood in for what the view hides."""
    return any(name == MARK for name, _ in change.xattrs)


def _tell(change: Change) -> Change:
    """A change without what only this machine has: attributes, and what was there before."""
    target = change.target if change.change != "deleted" else ""
    return replace(change, target=target, xattrs=(), before=None, before_sha256="")


def _too_much(result: Result, count: int) -> Result:
    """The result of a run whose changes no outcome can tell."""
    return replace(
        result,
        status=Status.SANDBOX_ERROR,
        exit_code=None,
        signal=None,
        message=f"nothing of what the run changed was committed: {count:,} entries are more than a "
        "worker tells of; have it write to a folder outside the project, or in several runs",
    )


def _copy_contents(contents: Path, changed: Iterable[Change], target: Path) -> None:
    """Write the contents of changed files one after the other.

    Raises:
        OSError: one is not what it was, or there is no room.
    """
    top = os.open(contents, FOLDER_FLAGS)
    try:
        with Tree(top) as tree, open(target, "xb") as out:
            for one in filter(has_content, changed):
                with open(tree.open(one.path), "rb") as content:
                    if os.fstat(content.fileno()).st_size != one.size:
                        raise OSError(errno.EIO, "it is not what was kept", one.path)
                    shutil.copyfileobj(content, out, MIB)
    finally:
        os.close(top)
