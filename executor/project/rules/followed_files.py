"""Files that tools obey in a project besides the table of names: what links and variables lead to.

A `CLAUDE.md` that is a link, a host's folder that a variable moved: whoever changes what they lead
to changes what is obeyed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from base.host_homes import MOVED, find_place
from executor.project.rules.names import ObeyedNames
from executor.project.view.record import Record
from executor.project.view.tree import find_inside
from policy import real_path


def in_project(names: ObeyedNames, record: Record) -> ObeyedNames:
    """The table of names, with what leads to other names in this project."""
    leads = [
        (link, inside)
        for link, target in _leads(record, names)
        if (inside := find_inside(target, str(record.project)))
    ]
    return names.with_links(leads) if leads else names


def _leads(record: Record, names: ObeyedNames) -> Iterator[tuple[str, str]]:
    """Each link that is obeyed, and the absolute path to which it leads."""
    project = str(record.project)
    for path, kind in record.kinds():
        if kind == stat.S_IFLNK and names.judge_link(path):
            yield path, real_path(f"{project}/{path}")
    yield from _by_variables()


def _by_variables() -> Iterator[tuple[str, str]]:
    """The names of hosts' folders, and where variables of this process have moved them."""
    for place, _, _ in MOVED:
        target = find_place(place, "", os.environ)
        if os.path.isabs(target):
            yield place.removeprefix("~/"), target
            yield place.removeprefix("~/"), real_path(target)
