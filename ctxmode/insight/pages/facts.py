"""Data of the pages about facts (tree, branches, history) and about versioned pages."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ctxmode.insight.reading import ROWS, Data, PageQuery, Reader, part, pick
from memory.errors import BadInputError, MemoryRoomError
from memory.facts import (
    MAIN,
    Fact,
    UnknownBranchError,
    find_at,
    read_branches,
    read_facts,
    read_history,
    require_branch,
)
from memory.pages import Pages, SectionChange, SectionDiff

COMMITS_MAX = 30
COMMIT = "sha author at subject agent"


def build_pages(reader: Reader, asked: PageQuery) -> Data:
    """Build the list of pages."""

    def look(pages: Pages) -> Data:
        rows = [
            pick(row, "path slug type title summary state") | {"tags": ", ".join(row.tags)}
            for row in pages.list_pages()
        ]
        return {"is_ready": True, "rows": rows}

    found = reader.pages(look) or {"is_ready": False, "rows": []}
    at = asked.number("at")
    listed = part("/pages", asked, found["rows"][at : at + ROWS + 1])
    return listed | {"is_ready": found["is_ready"], "total": len(found["rows"])}


def build_page(reader: Reader, asked: PageQuery) -> Data:
    """Build one page, without `page` if it is unknown. `from` and `to` are commits to compare
    (default: the last two versions)."""
    path = asked.text("path")

    def look(pages: Pages) -> Data:
        try:
            page = pages.read(path)
            history = pages.history(path, COMMITS_MAX)
        except MemoryRoomError:
            return {}
        data: Data = {
            "page": pick(page, "path slug type text"),
            "commits": [pick(one, COMMIT) for one in history],
            "diff": None,
            "blame": None,
        }
        if history:
            start, end = asked.text("from"), asked.text("to")
            data["diff"] = reader.ask(lambda: _build_diff(pages.diff(path, start=start, end=end)))
            data["blame"] = reader.ask(lambda: _build_blame(pages.blame(path)))
        return data

    found = (reader.pages(look) if path else None) or {}
    return {"path": path} | found


def _list_changes(diff: SectionDiff) -> list[SectionChange]:
    first = [] if diff.preamble is None else [diff.preamble]
    return [*first, *diff.sections]


def _build_diff(diff: SectionDiff) -> Data:
    return pick(diff, "from_sha to_sha") | {
        "fields": [
            {"field": one.field, "old": _word(one.old), "new": _word(one.new)}
            for one in diff.fields
        ],
        "sections": [
            pick(one, "heading old_heading status old new")
            | {"hunks": [{"mark": mark, "text": text} for mark, text in one.hunks]}
            for one in _list_changes(diff)
        ],
    }


def _build_blame(diff: SectionDiff) -> list[Data]:
    return [
        {
            "heading": one.heading,
            "introduced_by": one.introduced_by and pick(one.introduced_by, COMMIT),
            "changed_by": one.changed_by and pick(one.changed_by, COMMIT),
        }
        for one in _list_changes(diff)
        if one.introduced_by or one.changed_by
    ]


def _word(value: object) -> str:
    return "" if value is None else str(value)


FACTS = 200
CHANGES_MAX = 50
SCOPES = ("project", "user")
FACT = (
    "id path title text scope branch at agent session category why confidence source expires_at "
    "is_pinned"
)


def build_facts(reader: Reader, asked: PageQuery) -> Data:
    """Build the tree of a branch's current facts, and the table of branches."""
    scope, branch, at = _scope(asked), asked.text("branch") or MAIN, asked.number("at")

    def look(db: sqlite3.Connection) -> Data:
        branches = [
            pick(one, "name parent state changes agent") | {"created_at": one.created_at or None}
            for one in read_branches(db)
        ]
        try:
            require_branch(db, branch)
        except UnknownBranchError:
            return {"branches": branches, "facts": []}
        facts = read_facts(db, branch, now=time.time())
        shown = [_build_fact(one) for one in islice(facts, at, at + FACTS + 1)]
        return {"branches": branches, "facts": shown}

    found = reader.facts(scope, look) or {"branches": [], "facts": []}
    listed = part("/memory", asked, found["facts"], limit=FACTS)
    return listed | {
        "scope": scope,
        "branch": branch,
        "branches": found["branches"],
        "groups": _group(listed["rows"]),
    }


def build_fact(reader: Reader, asked: PageQuery) -> Data:
    """Build the page of one fact, with all changes at its path; without `fact` if it is unknown."""
    scope, branch, path = _scope(asked), asked.text("branch") or MAIN, asked.text("path")

    def look(db: sqlite3.Connection) -> Data:
        try:
            changes = read_history(db, path, branch)
        except BadInputError:
            return {}
        fact = find_at(db, branch, path)
        if fact is None and not changes:
            return {}
        return {
            "fact": None if fact is None else _build_fact(fact),
            "is_known": True,
            "changes_total": len(changes),
            "changes": [
                pick(one, "seq at operation branch agent session why text")
                for one in changes[:CHANGES_MAX]
            ],
        }

    found = (reader.facts(scope, look) if path else None) or {}
    return {"scope": scope, "branch": branch, "path": path} | found


def _scope(asked: PageQuery) -> str:
    return "user" if asked.text("scope") == "user" else "project"


def _build_fact(fact: Fact) -> dict[str, Any]:
    return pick(fact, FACT) | {"tags": ", ".join(fact.tags)}


def _group(facts: Iterable[dict[str, Any]]) -> list[Data]:
    """Group facts by the folders of their paths."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        folder = fact["path"].rpartition("/")[0]
        groups.setdefault(folder, []).append(fact)
    return [{"name": name, "facts": group} for name, group in groups.items()]
