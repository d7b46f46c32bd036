"""Overview of a project: languages, folders, cycles of imports, external packages."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from repomap.model import REASONS, Count, FileRow, LeftOut, Section
from repomap.rendering import show_path
from repomap.store import read_files

Edges = Mapping[str, Sequence[str]]


def read_edges(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the files that each file imports, by path, without files that import none."""
    return _group(
        db,
        "SELECT one.path, other.path FROM edge JOIN file AS one ON one.id = edge.file"
        " JOIN file AS other ON other.id = edge.target ORDER BY one.path, other.path",
    )


def _group(db: sqlite3.Connection, query: str) -> dict[str, list[str]]:
    """Return the second column of a query's rows by the first."""
    found: dict[str, list[str]] = {}
    for path, other in db.execute(query):
        found.setdefault(path, []).append(other)
    return found


def find_cycles(edges: Edges) -> list[list[str]]:
    """Return a shortest cycle of each group of files that import each other in a circle. A cycle
    begins with its first path; each file imports the next, and the last imports the first."""
    cycles = []
    for group in _find_groups(edges):
        start = min(group)
        cycles.append(_find_way_back(edges, start, group))
    return sorted(cycles)


def _find_groups(edges: Edges) -> list[set[str]]:
    """Return the strongly connected groups of more than one file (Tarjan's algorithm, without
    recursion, since a chain of imports may be as long as a project)."""
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
    """Return the imported modules without a file in the project, for each file by path."""
    return _group(
        db,
        "SELECT path, module FROM unresolved JOIN file ON file.id = unresolved.file"
        " ORDER BY path, module",
    )


def count_packages(unresolved: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Return the external packages with the number of files that import them, most used first."""
    counts: Counter[str] = Counter()
    for modules in unresolved.values():
        counts.update({name for module in modules if (name := name_package(module))})
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def name_package(module: str) -> str:
    """Return the package of a module: `os` of `os.path`, `@a/b` of `@a/b/c`, `serde` of
    `serde::de`, `example.org/a/b` of a longer path of Go. Relative modules have none."""
    if module.startswith((".", "/", "crate::", "self::", "super::", "~")):
        return ""
    parts = module.split("/")
    if len(parts) > 1:
        kept = 2 if parts[0].startswith("@") else 3 if "." in parts[0] else 1
        return "/".join(parts[:kept])
    return module.split("::", maxsplit=1)[0].split(".", maxsplit=1)[0].split("\\", maxsplit=1)[0]


ROWS_MAX = 15
CYCLE_FILES_MAX = 8
OVERVIEW_SHARE = 0.35
"""Largest share of a map's budget for everything except the files."""

OTHERS = "other text"


def make_overview(
    db: sqlite3.Connection, left_out: Sequence[LeftOut], *, budget: int, count: Count
) -> tuple[Section, ...]:
    """Return the sections that fit, the most informative first."""
    files = read_files(db)
    sections = (
        _describe_size(files),
        _describe_folders(files),
        _describe_cycles(db),
        _describe_packages(db),
        _describe_left_out(left_out),
    )
    room = OVERVIEW_SHARE * budget
    chosen = []
    for one in sections:
        tokens = count(f"## {one.title}\n\n{one.text}\n\n")
        if one.text and tokens <= room:
            chosen.append(one)
            room -= tokens
    return tuple(chosen)


def _add_up(rows: Iterable[tuple[str, FileRow]]) -> list[dict[str, str | int]]:
    """Sum files by a name, the most lines first."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name, row in rows:
        total = sums[name]
        total[0] += 1
        total[1] += row.lines
        total[2] += row.size
    ordered = sorted(sums.items(), key=lambda one: (-one[1][1], one[0]))
    return [
        {"name": name, "files": files, "lines": lines, "bytes": size}
        for name, (files, lines, size) in ordered
    ]


def _write_rows(rows: Sequence[Mapping[str, str | int]], *, is_path: bool) -> str:
    lines = []
    for one in rows[:ROWS_MAX]:
        name = f"`{show_path(str(one['name']))}`" if is_path else str(one["name"])
        lines.append(f"- {name}: {one['files']} files, {one['lines']:,} lines")
    if len(rows) > ROWS_MAX:
        lines.append(f"- and {len(rows) - ROWS_MAX} more")
    return "\n".join(lines)


def _describe_size(files: Mapping[str, FileRow]) -> Section:
    rows = _add_up((row.language or OTHERS, row) for row in files.values())
    lines = sum(row.lines for row in files.values())
    size = sum(row.size for row in files.values())
    text = f"{len(files)} files, {lines:,} lines, {size:,} bytes.\n\n"
    data = {"files": len(files), "lines": lines, "bytes": size, "languages": rows}
    return Section("size", "Languages", text + _write_rows(rows, is_path=False), data)


def _describe_folders(files: Mapping[str, FileRow]) -> Section:
    """Sum up the top-level folders, or the subfolders if there is only one."""
    prefix = ""
    while True:
        inner = {path[len(prefix) :].partition("/")[0] for path in files}
        if len(inner) != 1 or not all(path.startswith(prefix) for path in files):
            break
        (name,) = inner
        if f"{prefix}{name}" in files:
            break
        prefix += f"{name}/"

    def name_folder(path: str) -> str:
        first, slash, _ = path[len(prefix) :].partition("/")
        return f"{prefix}{first}/" if slash else prefix or "./"

    rows = _add_up((name_folder(path), row) for path, row in files.items())
    return Section("folders", "Folders", _write_rows(rows, is_path=True) if files else "", rows)


def _describe_cycles(db: sqlite3.Connection) -> Section:
    cycles = find_cycles(read_edges(db))
    lines = []
    for cycle in cycles[:ROWS_MAX]:
        shown = [f"`{show_path(path)}`" for path in cycle[:CYCLE_FILES_MAX]]
        shown += ["…"] * (len(cycle) > CYCLE_FILES_MAX)
        lines.append(f"- {' → '.join([*shown, shown[0]])}")
    if len(cycles) > ROWS_MAX:
        lines.append(f"- and {len(cycles) - ROWS_MAX} more")
    return Section("cycles", "Cycles of imports", "\n".join(lines), cycles[:ROWS_MAX])


def _describe_packages(db: sqlite3.Connection) -> Section:
    found = count_packages(read_unresolved(db))
    shown = [f"`{show_path(name[:80])}` ({files})" for name, files in found[:ROWS_MAX]]
    if len(found) > ROWS_MAX:
        shown.append(f"and {len(found) - ROWS_MAX} more")
    data = [{"name": name, "files": files} for name, files in found[:ROWS_MAX]]
    return Section("packages", "External packages, by files", ", ".join(shown), data)


def _describe_left_out(left_out: Sequence[LeftOut]) -> Section:
    counts: defaultdict[str, int] = defaultdict(int)
    for _, reason in left_out:
        counts[reason] += 1
    ordered = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    lines = [f"- {count}: {REASONS[reason]}" for reason, count in ordered.items()]
    return Section("left_out", "Not in the map", "\n".join(lines), ordered)
