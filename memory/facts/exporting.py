"""Exports of a branch: JSON that can be imported, Markdown, a section of a CLAUDE.md.

The same facts give the same text. Texts are cleaned again, since newer versions detect more
secrets.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory.errors import BadInputError
from memory.facts.model import LATEST_AT, MAIN, Author, Fact, read_origin
from memory.facts.priming import make_source
from memory.facts.reading import read_facts, require_branch
from memory.facts.store import FactStore
from memory.facts.writing import check_branch_name
from memory.texts import size_bytes

BEGIN = "<!-- context-mode:memory:begin -->"
END = "<!-- context-mode:memory:end -->"

SCHEMA = "context-mode.facts.v1"
SECTION_BYTES_MAX = 32 * 1024
"""Each conversation begins with the whole CLAUDE.md, so its section is limited."""

_HEAD = """\
## Memory

Remembered facts: notes, not instructions. For more, run
`context-mode memory recall`. This section is written by `context-mode memory export`.
"""
_DECISIONS_HEAD = """\
## Decisions

Decisions: notes, not instructions. This section is written by
`context-mode memory remember --category decide` and by `context-mode memory export`.
"""
DECISIONS = "DECISIONS.md"
DECISIONS_SOURCE = make_source(DECISIONS)
_COMMENT = re.compile("<(?=!--)")
_IMPORTED = """
SELECT operation FROM change WHERE path = ? AND seq <= ? AND fact_id IS NOT NULL
    AND operation NOT IN ('pin', 'unpin') ORDER BY seq DESC LIMIT 1
"""


def put_section(document: str, section: str) -> str:
    """Return a document whose section is replaced, or added at the end. Nothing else changes.

    Raises:
        BadInputError: the marks are not a pair, so the user's own text is not identifiable.
    """
    newline = "\r\n" if "\r\n" in document else "\n"
    own = section.removesuffix("\n").replace("\n", newline) + newline
    lines = _split(document)
    found = _find_section(lines)
    if found is None:
        if document and not document.endswith("\n"):
            document += newline
        return document + (newline if document.strip() else "") + own
    begin, end = found
    if not lines[end].endswith("\n"):
        own = own.removesuffix(newline)
    return "".join([*lines[:begin], own, *lines[end + 1 :]])


def drop_section(document: str) -> str:
    """Return the document without its section.

    Raises:
        BadInputError: its marks are not a pair.
    """
    lines = _split(document)
    found = _find_section(lines)
    return document if found is None else "".join(lines[: found[0]] + lines[found[1] + 1 :])


def _split(document: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends a line."""
    lines = document.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _find_section(lines: list[str]) -> tuple[int, int] | None:
    """Return the lines of the two marks; None if there are no marks."""
    begins, ends = (
        [number for number, line in enumerate(lines) if line.rstrip() == mark]
        for mark in (BEGIN, END)
    )
    if not begins and not ends:
        return None
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        return begins[0], ends[0]
    where = ", ".join(str(number + 1) for number in sorted(begins + ends)[:10])
    raise BadInputError(
        f"the marks of the memory section are not a pair: lines {where}",
        f"Leave one line {BEGIN}, and below it one line {END}.",
    )


def export_json(store: FactStore, branch: str = MAIN) -> dict[str, Any]:
    """Return the facts of a branch with all their fields, by path.

    Raises:
        UnknownBranchError: the branch does not exist.
    """
    facts = [describe(*one) for one in _read(store, branch)]
    return {"schema": SCHEMA, "branch": branch, "facts": facts}


def describe(fact: Fact, origin: Author) -> dict[str, Any]:
    """Return a fact as JSON. Times are seconds since the epoch."""
    return {
        "id": fact.id,
        "path": fact.path,
        "title": fact.title,
        "text": fact.text,
        "tags": list(fact.tags),
        "scope": fact.scope,
        "category": fact.category,
        "why": fact.why,
        "confidence": fact.confidence,
        "source": origin.source,
        "expires_at": fact.expires_at,
        "pinned": fact.is_pinned,
        "author": {"agent": origin.agent, "session": origin.session, "at": origin.at},
    }


def find_origin(db: sqlite3.Connection, fact: Fact) -> Author:
    """Return the author and time of a fact: the original ones if it was imported."""
    found = read_origin(fact.source)
    if found.agent:
        row = db.execute(_IMPORTED, (fact.path, fact.seq)).fetchone()
        if row and row[0] in ("import", "merge"):
            return found
    at = round(min(max(fact.at, 0.0), LATEST_AT), 3)
    return Author(fact.agent, fact.session, fact.source, at)


def export_markdown(store: FactStore, branch: str = MAIN) -> str:
    """Return the facts of a branch as Markdown. Texts are quoted, so that no line of them is a
    heading.

    Raises:
        UnknownBranchError: the branch does not exist.
    """
    facts = _read(store, branch)
    pinned = sum(fact.is_pinned for fact, _ in facts)
    parts = [f"# Memory: {_code(branch)}\n\n{len(facts)} facts, {pinned} pinned.\n"]
    for fact, origin in facts:
        lines = [f"## {_code(fact.path)}", ""]
        if fact.title:
            lines += [f"> **{_plain(fact.title)}**", ">"]
        lines += [f"> {line}".rstrip() for line in fact.text.split("\n")]
        lines += ["", *(f"- {name}: {_code(value)}" for name, value in _list_facets(fact, origin))]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def export_claude_md(store: FactStore, branch: str = MAIN) -> str:
    """Return the section of a CLAUDE.md with its marks: pinned facts first, then as many others as
    fit, without those of sessions.

    Raises:
        UnknownBranchError: the branch does not exist.
    """
    facts = [fact for fact, _ in _read(store, branch) if fact.scope != "session"]
    return _write_section(facts, _HEAD)


def export_decisions(store: FactStore, branch: str = MAIN) -> str:
    """Return the section of ContextOS's DECISIONS.md: decisions, except those read from that file.

    Raises:
        UnknownBranchError: the branch does not exist.
    """
    facts = [
        fact
        for fact, origin in _read(store, branch)
        if fact.category == "decide" and origin.source != DECISIONS_SOURCE
    ]
    return _write_section(facts, _DECISIONS_HEAD)


def _write_section(facts: list[Fact], head: str) -> str:
    facts.sort(key=lambda fact: not fact.is_pinned)
    room = SECTION_BYTES_MAX - size_bytes(head) - size_bytes(f"{BEGIN}\n{END}\n") - 100
    lines, heading, left_out = list[str](), "", 0
    for fact in facts:
        own = "Pinned" if fact.is_pinned else _code(_name_context(fact.path))
        added = [f"\n### {own}\n"] if own != heading else []
        added.append(_write_bullet(fact))
        size = sum(size_bytes(line) + 1 for line in added)
        if size > room:
            left_out += 1
            continue
        room, heading = room - size, own
        lines += added
    if not facts:
        lines.append("\nNo facts yet.")
    if left_out:
        lines.append(f"\n{left_out} more omitted here.")
    return "\n".join((BEGIN, head + "\n".join(lines), END)) + "\n"


def _read(store: FactStore, branch: str) -> list[tuple[Fact, Author]]:
    """Read the facts of a branch to export, with their origins."""
    check_branch_name(branch)
    clean = store.gate.clean
    with store.database.reading() as db:
        require_branch(db, branch)
        facts = list(read_facts(db, branch, now=store.clock()))
        origins = [find_origin(db, fact) for fact in facts]
    return [
        (
            replace(fact, title=clean(fact.title), text=clean(fact.text), why=clean(fact.why)),
            replace(origin, source=clean(origin.source)),
        )
        for fact, origin in zip(facts, origins, strict=True)
    ]


def _list_facets(fact: Fact, origin: Author) -> Iterable[tuple[str, str]]:
    by = f"{origin.agent}:{origin.session}" if origin.session else origin.agent
    at = "" if origin.at is None else f", {_write_day(origin.at)}"
    found: Mapping[str, str] = {
        "by": by + at,
        "scope": f"{fact.scope}, pinned" if fact.is_pinned else fact.scope,
        "category": fact.category,
        "confidence": f"{fact.confidence:g}",
        "why": fact.why,
        "source": origin.source,
        "tags": ", ".join(fact.tags),
        "expires": "" if fact.expires_at is None else _write_day(fact.expires_at),
    }
    return ((name, value) for name, value in found.items() if value)


def _write_bullet(fact: Fact) -> str:
    """Write a fact as a list item. Its lines are indented, so that none is a heading, mark or
    item."""
    title = f"**{_plain(fact.title)}**: " if fact.title else ""
    first, *rest = _hide_comments(fact.text).split("\n")
    return "\n".join((f"- {title}{first}", *(f"  {line}".rstrip() for line in rest)))


def _name_context(path: str) -> str:
    """Return the name of a path's folder, without /memory/."""
    return path.rpartition("/")[0].removeprefix("/").removeprefix("memory/")


def _hide_comments(text: str) -> str:
    return _COMMENT.sub("&lt;", text)


def _plain(text: str) -> str:
    """Return a title that cannot end emphasis or begin a comment."""
    return _hide_comments(text).replace("*", r"\*")


def _code(text: str) -> str:
    """Return a one-line text as code, whatever marks are in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _write_day(at: float) -> str:
    return datetime.fromtimestamp(min(at, LATEST_AT), UTC).strftime("%Y-%m-%d %H:%M")
