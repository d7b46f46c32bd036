"""What a run did to the project, as far as the supervisor says it."""

from __future__ import annotations

import os

from . import changes, tree
from .messages import BoxDescription
from .view import FOLDER


def look(cell: BoxDescription, handles: tree.Handles) -> changes.Snapshot | None:
    """The state from which changes are counted: of a view's upper layer, or of a live project."""
    if handles.view is not None:
        return changes.look(handles.view.upper)
    if not cell.get("project") or cell["project"]["mode"] != "live":
        return {}
    return _look(cell["project"]["target"])


def what_changed(
    cell: BoxDescription, handles: tree.Handles, before: changes.Snapshot | None
) -> changes.ReportedChanges:
    """What the run did to the project since `before`.

    Where it is committed, that tells what changed.
    """
    project = cell.get("project")
    changed = changes.ReportedChanges()
    if project and project["mode"] == "live":
        changed = changes.between(before, _look(project["target"]))
    elif handles.view is not None and project and not project["commit"]:
        changed = changes.of_overlay(handles.view.upper, handles.view.lower, before or {})
    return changed


def hand_over_upper(cell: BoxDescription, handles: tree.Handles) -> list[int]:
    """The upper layer, where the server commits what is in it."""
    project = cell.get("project")
    if handles.view is None or not project or not project["commit"]:
        return []
    return [handles.view.upper]


def _look(folder: str) -> changes.Snapshot | None:
    fd = os.open(folder, FOLDER)
    try:
        return changes.look(fd)
    finally:
        os.close(fd)
