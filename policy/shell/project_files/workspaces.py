"""Packages of a workspace: the folders in which a command line runs scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from base.globs import is_made_of
from base.wordlist import words
from policy.shell.project_files import ProjectFiles, table, texts
from policy.shell.project_files.data_files import read_data

if TYPE_CHECKING:
    from policy.shell.project_files.tasks import TaskCall

_OF_ALL = words("workspaces ws r recursive")


def _data(project: ProjectFiles, name: str, folder: str) -> dict[str, Any]:
    return read_data(name, project.read(name, folder))


def packages(
    project: ProjectFiles, folder: str, asked: TaskCall
) -> Iterator[tuple[str, list[str]]]:
    """The folders in which a command line runs scripts, each with the names of the scripts."""
    root = project.find("package.json nx.json", folder)[0] or project.folder
    options, names = asked.options, asked.names
    wanted = list(options.values(words("w workspace filter F scope projects p")))
    of_each = project.call.name in ("turbo", "nx", "lerna")
    if project.call.name == "nx" and names and not options.has("t", "target", "targets"):
        owner, _, target = names[0].partition(":")  # `nx run y:x`, `nx x y`
        wanted += [owner] if target else names[1:2]
        names = [target or owner]
    if of_each:
        data = _data(project, "turbo.json", root) | _data(project, "nx.json", root)
        known = table(data, "tasks") | table(data, "pipeline") | table(data, "targetDefaults")
        for name in (names := [*names]):
            needed = texts(table(known, name).get("dependsOn"))
            others = {other.lstrip("^").rpartition("#")[2] for other in needed}
            names += sorted(others.difference(names))
    of_members = of_each or bool(wanted) or options.has(*_OF_ALL)
    roots = [root] if of_each or not of_members else []
    for place in [*roots, *(_members(project, root, wanted) if of_members else ())]:
        yield place, [*names]


def _members(project: ProjectFiles, root: str, wanted: list[str]) -> Iterator[str]:
    """The folders of a workspace: those whose name or folder is wanted, else all."""
    listed = _data(project, "package.json", root).get("workspaces")
    given = [*texts(listed), *texts(table(listed).get("packages"))]
    for name in ("pnpm-workspace.yaml", "lerna.json"):
        given += texts(_data(project, name, root).get("packages"))
    names = [re.sub(r"[{}^]|\.\.\.|\[.*", "", name).removeprefix("./") for name in wanted]
    names = [name for one in names for name in one.split(",") if name]
    members = {}
    for folder in project.paths(" ".join(given or ["packages/*", "apps/*", "libs/*", "*"]), root):
        data = _data(project, "package.json", folder) or _data(project, "project.json", folder)
        own = str(data.get("name", ""))
        if data:
            members[folder] = (own, own.rpartition("/")[2], folder[len(root) + 1 :])
    chosen = [
        folder
        for folder, spellings in members.items()
        if any(is_made_of(name.split("*"), one) for name in names for one in spellings)
    ]
    yield from chosen if names else members
