"""The state of a cell's project before and after a run: what changed, what is put back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import changes, protection, tree


@dataclass(slots=True)
class Before:
    """The state of a live project, to tell afterwards what a run did to it."""

    state: changes.State | None = None
    protected: protection.State = field(default_factory=dict)


def look(cell: dict[str, Any]) -> Before:
    """Remember a live project; nothing reaches any other."""
    project = cell.get("project")
    if not project or project["mode"] != "live":
        return Before()
    target = project["target"]
    missing = protection.remember(target, project["watched"])
    return Before(changes.look(target), missing)


def what_changed(cell: dict[str, Any], handles: tree.Handles, before: Before) -> dict[str, Any]:
    """What the run did to the project, after protected paths are as they were."""
    undone: list[str] = []
    if before.state is None:
        changed = changes.of_overlay(handles)
    else:
        target = cell["project"]["target"]
        undone = protection.restore(target, before.protected)
        after = changes.look(target)
        planted = sorted(after.repositories - before.state.repositories)
        if before.protected and planted:
            protection.take_out(target, planted)
            undone += planted
            after = changes.look(target)
        changed = changes.between(before.state.files, after.files)
    return {"changed": changed.listed, "changed_omitted": changed.omitted, "undone": undone}
