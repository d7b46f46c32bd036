"""What a project is made of: languages, folders, cycles of imports, what comes from outside."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from repomap.graph import count_packages, find_cycles, read_edges, read_unresolved
from repomap.model import FileRow, LeftOut
from repomap.pack_model import Count, Section
from repomap.rendering import show_path
from repomap.store import read_files
from repomap.walking import REASONS

ROWS_MAX = 15
CYCLE_FILES_MAX = 8
OVERVIEW_SHARE = 0.35
"""The most of a map's budget that goes to all but the files."""

OTHERS = "other text"


def make_overview(
    db: sqlite3.Connection, left_out: Sequence[LeftOut], *, budget: int, count: Count
) -> tuple[Section, ...]:
    """Return the sections that fit, the most telling first."""
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
    """Add up files by a name, the most lines first."""
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
    """Sum up the top-level folders; where all is in one of them, those within it."""
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
    return Section("packages", "Imported from outside, by files", ", ".join(shown), data)


def _describe_left_out(left_out: Sequence[LeftOut]) -> Section:
    counts: defaultdict[str, int] = defaultdict(int)
    for one in left_out:
        counts[one.reason] += 1
    ordered = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    lines = [f"- {count}: {REASONS[reason]}" for reason, count in ordered.items()]
    return Section("left_out", "Not in the map", "\n".join(lines), ordered)
