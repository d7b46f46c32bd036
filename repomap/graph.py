"""The graph of imports as data: edges, cycles, and what is imported from outside."""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Mapping, Sequence

Edges = Mapping[str, Sequence[str]]


def read_edges(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the files that each file imports, for those that import one, by path."""
    edges: dict[str, list[str]] = {}
    rows = db.execute(
        "SELECT one.path, other.path FROM edge JOIN file AS one ON one.id = edge.file"
        " JOIN file AS other ON other.id = edge.target ORDER BY one.path, other.path"
    )
    for path, target in rows:
        edges.setdefault(path, []).append(target)
    return edges


def find_cycles(edges: Edges) -> list[list[str]]:
    """Return a shortest cycle of each group of files that import each other in a circle.

    A cycle begins with its first path, and each file imports the next, the last one the first.
    """
    cycles = []
    for group in _find_groups(edges):
        start = min(group)
        cycles.append(_find_way_back(edges, start, group))
    return sorted(cycles)


def _find_groups(edges: Edges) -> list[set[str]]:
    """Return the strongly connected groups of more than one file (Tarjan's way, without recursion,
    since a chain of imports may be as long as a project)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[set[str]] = []
    for root in edges:
        if root in order:
            continue
        work = [(root, iter(edges.get(root, ())))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            path, targets = work[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[path] = min(low[path], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[path])
                if low[path] == order[path]:
                    group = _pop_group(stack, path)
                    on_stack -= group
                    if len(group) > 1:
                        groups.append(group)
    return groups


def _pop_group(stack: list[str], path: str) -> set[str]:
    group = set()
    while True:
        one = stack.pop()
        group.add(one)
        if one == path:
            return group


def _find_way_back(edges: Edges, start: str, group: set[str]) -> list[str]:
    """Return a shortest way from a file back to itself, breadth first."""
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        path = waiting.popleft()
        for target in edges.get(path, ()):
            if target == start:
                way = [path]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if target in group and target not in before:
                before[target] = path
                waiting.append(target)
    raise AssertionError("a file of a group has a way back")


def read_unresolved(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the modules that each file imports and the project has no file of, by path."""
    found: dict[str, list[str]] = {}
    rows = db.execute(
        "SELECT path, module FROM unresolved JOIN file ON file.id = unresolved.file"
        " ORDER BY path, module"
    )
    for path, module in rows:
        found.setdefault(path, []).append(module)
    return found


def count_packages(unresolved: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Return what is imported from outside with the number of files that do, most used first."""
    counts: Counter[str] = Counter()
    for modules in unresolved.values():
        counts.update({name for module in modules if (name := name_package(module))})
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def name_package(module: str) -> str:
    """Return what a module belongs to: `os` of `os.path`, `@a/b` of `@a/b/c`, `serde` of
    `serde::de`, `example.org/a/b` of a longer path of Go. A relative one belongs to nothing."""
    if module.startswith((".", "/", "crate::", "self::", "super::", "~")):
        return ""
    parts = module.split("/")
    if len(parts) > 1:
        kept = 2 if parts[0].startswith("@") else 3 if "." in parts[0] else 1
        return "/".join(parts[:kept])
    return module.split("::", maxsplit=1)[0].split(".", maxsplit=1)[0].split("\\", maxsplit=1)[0]
