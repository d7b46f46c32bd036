"""The state of a cell's project before and after a run: what changed, what is put back."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from . import changes, protection, tree


@dataclass(slots=True)
class Before:
    """The state of a live project, to tell afterwards what a run did to it."""

    state: changes.State | None = None
    protected: protection.State = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """What another cell would need to `undo` a run, should this one not live to."""
        found = sorted(self.state.repositories) if self.state else []
        return {"protected": self.protected, "repositories": found}


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
        planted = after.repositories - before.state.repositories
        if before.protected and planted:
            undone += _take_out(target, planted)
            after = changes.look(target)
        changed = changes.between(before.state.files, after.files)
    return {"changed": changed.listed, "changed_omitted": changed.omitted, "undone": undone}


def undo(cell: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Put back what a run made of protected paths whose own cell was lost with it."""
    target = cell["project"]["target"]
    undone = protection.restore(target, before["protected"])
    planted = changes.look(target).repositories - set(before["repositories"])
    return undone + (_take_out(target, planted) if before["protected"] else [])


def _take_out(target: str, planted: Set[str]) -> list[str]:
    named = sorted(planted)
    protection.take_out(target, named)
    return named
