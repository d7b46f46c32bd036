"""Pages of knowledge: the list, and one with its history, what changed, and who wrote each part."""

from __future__ import annotations

from typing import Any

from ctxmode.insight.model import ROWS, Asked, Data, part
from ctxmode.insight.reading import Reader
from memory.errors import MemoryRoomError
from memory.pages import Commit, Pages, SectionChange, SectionDiff

COMMITS_MAX = 30


def build_list(reader: Reader, asked: Asked) -> Data:
    """Build the list of pages."""

    def look(pages: Pages) -> Data:
        rows = [
            {
                "path": row.path,
                "slug": row.slug,
                "type": row.type,
                "title": row.title,
                "summary": row.summary,
                "tags": ", ".join(row.tags),
                "state": row.state,
            }
            for row in pages.list_pages()
        ]
        return {"is_ready": True, "rows": rows}

    found = reader.pages(look) or {"is_ready": False, "rows": []}
    at = asked.number("at")
    listed = part("/pages", asked, found["rows"][at : at + ROWS + 1])
    return listed | {"is_ready": found["is_ready"], "total": len(found["rows"])}


def build_one(reader: Reader, asked: Asked) -> Data:
    """Build one page; without `page` where there is none. `from` and `to` are commits to
    compare; without them the last two versions are."""
    path = asked.text("path")

    def look(pages: Pages) -> Data:
        try:
            page = pages.read(path)
            history = pages.history(path, COMMITS_MAX)
        except MemoryRoomError:
            return {}
        data: Data = {
            "page": {"path": page.path, "slug": page.slug, "type": page.type, "text": page.text},
            "commits": [_build_commit(one) for one in history],
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


def _build_commit(commit: Commit) -> dict[str, Any]:
    return {
        "sha": commit.sha,
        "author": commit.author,
        "at": commit.at,
        "subject": commit.subject,
        "agent": commit.agent,
    }


def _list_changes(diff: SectionDiff) -> list[SectionChange]:
    first = [] if diff.preamble is None else [diff.preamble]
    return [*first, *diff.sections]


def _build_diff(diff: SectionDiff) -> Data:
    return {
        "from_sha": diff.from_sha,
        "to_sha": diff.to_sha,
        "fields": [
            {"field": one.field, "old": _word(one.old), "new": _word(one.new)}
            for one in diff.fields
        ],
        "sections": [
            {
                "heading": one.heading,
                "old_heading": one.old_heading,
                "status": one.status,
                "old": one.old,
                "new": one.new,
                "hunks": [{"mark": hunk.mark, "text": hunk.text} for hunk in one.hunks],
            }
            for one in _list_changes(diff)
        ],
    }


def _build_blame(diff: SectionDiff) -> list[Data]:
    return [
        {
            "heading": one.heading,
            "introduced_by": one.introduced_by and _build_commit(one.introduced_by),
            "changed_by": one.changed_by and _build_commit(one.changed_by),
        }
        for one in _list_changes(diff)
        if one.introduced_by or one.changed_by
    ]


def _word(value: object) -> str:
    return "" if value is None else str(value)
