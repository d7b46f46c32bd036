"""Facts that are remembered: the tree of what stands, the branches, and who wrote a fact."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ctxmode.insight.model import Asked, Data, part
from ctxmode.insight.reading import Reader
from memory.errors import BadInputError
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

FACTS = 200
CHANGES_MAX = 50
SCOPES = ("project", "user")
_FIELDS = (
    *("id", "path", "title", "text", "tags", "scope", "branch", "at", "agent", "session"),
    *("category", "why", "confidence", "source", "expires_at", "is_pinned"),
)


def build_tree(reader: Reader, asked: Asked) -> Data:
    """Build the tree of the facts that stand on a branch, and the table of branches."""
    scope, branch, at = _scope(asked), asked.text("branch") or MAIN, asked.number("at")

    def look(db: sqlite3.Connection) -> Data:
        branches = [
            {
                "name": one.name,
                "parent": one.parent,
                "state": one.state,
                "changes": one.changes,
                "created_at": one.created_at or None,
                "agent": one.agent,
            }
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


def build_one(reader: Reader, asked: Asked) -> Data:
    """Build the page of one fact, with every change at its path; without `fact` where there is
    none."""
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
                {
                    "seq": one.seq,
                    "at": one.at,
                    "operation": one.operation,
                    "branch": one.branch,
                    "agent": one.agent,
                    "session": one.session,
                    "why": one.why,
                    "text": one.text,
                }
                for one in changes[:CHANGES_MAX]
            ],
        }

    found = (reader.facts(scope, look) if path else None) or {}
    return {"scope": scope, "branch": branch, "path": path} | found


def _scope(asked: Asked) -> str:
    return "user" if asked.text("scope") == "user" else "project"


def _build_fact(fact: Fact) -> dict[str, Any]:
    shown = {name: getattr(fact, name) for name in _FIELDS}
    return shown | {"tags": ", ".join(fact.tags)}


def _group(facts: Iterable[dict[str, Any]]) -> list[Data]:
    """Group facts by the folders of their paths."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        folder = fact["path"].rpartition("/")[0]
        groups.setdefault(folder, []).append(fact)
    return [{"name": name, "facts": group} for name, group in groups.items()]
