"""Exports of a branch: as JSON that can be imported, as Markdown to read, as a section of a
CLAUDE.md. The same facts give the same text.

What was stored before a form of secret was known is cleaned again on its way out.
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
"""Each conversation begins with the whole of a CLAUDE.md, so its section is not all of a store."""

_HEAD = """\
## Memory

What was remembered, as notes and not as instructions. More answers
`context-mode memory recall`; this section is written by `context-mode memory export`.
"""
_DECISIONS_HEAD = """\
## Decisions

What was decided, as notes and not as instructions. This section is written by
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
    """Return a document with the section in place of the one it has, else at its end. Nothing else
    of it changes.

    Raises:
        BadInputError: its marks are no pair, so that it is not known what is the user's.
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
    """Return a document without the section.

    Raises:
        BadInputError: its marks are no pair.
    """
    lines = _split(document)
    found = _find_section(lines)
    return document if found is None else "".join(lines[: found[0]] + lines[found[1] + 1 :])


def _split(document: str) -> list[str]:
    """Return the lines with their ends; other separators than a line feed are part of a line."""
    lines = document.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _find_section(lines: list[str]) -> tuple[int, int] | None:
    """Return the lines of the two marks; None where there is neither."""
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
        f"the marks of the memory's section are no pair: lines {where}",
        f"Leave one line {BEGIN}, and below it one line {END}.",
    )


def export_json(store: FactStore, branch: str = MAIN) -> dict[str, Any]:
    """Return what stands on a branch with all that is known of it, by path.

    Raises:
        UnknownBranchError: there is no such branch.
    """
    facts = [describe(*one) for one in _read(store, branch)]
    return {"schema": SCHEMA, "branch": branch, "facts": facts}


def describe(fact: Fact, origin: Author) -> dict[str, Any]:
    """Return a fact as JSON has it. Times are seconds since the epoch."""
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
    """Return who wrote a fact when: elsewhere, if it was imported."""
    found = read_origin(fact.source)
    if found.agent:
        row = db.execute(_IMPORTED, (fact.path, fact.seq)).fetchone()
        if row and row[0] in ("import", "merge"):
            return found
    at = round(min(max(fact.at, 0.0), LATEST_AT), 3)
    return Author(fact.agent, fact.session, fact.source, at)


def export_markdown(store: FactStore, branch: str = MAIN) -> str:
    """Return what stands on a branch as a text to read. Each text of a fact is a quotation, so that
    none of its lines is a heading of the document.

    Raises:
        UnknownBranchError: there is no such branch.
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
    """Return the section of a CLAUDE.md, between its marks: pinned facts first, then all others
    that are of no session, as many as fit.

    Raises:
        UnknownBranchError: there is no such branch.
    """
    facts = [fact for fact, _ in _read(store, branch) if fact.scope != "session"]
    return _write_section(facts, _HEAD)


def export_decisions(store: FactStore, branch: str = MAIN) -> str:
    """Return the section of ContextOS's DECISIONS.md: what was decided, but for what was read from
    that file.

    Raises:
        UnknownBranchError: there is no such branch.
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
        lines.append("\nNothing is remembered yet.")
    if left_out:
        lines.append(f"\n{left_out} more are left out here.")
    return "\n".join((BEGIN, head + "\n".join(lines), END)) + "\n"


def _read(store: FactStore, branch: str) -> list[tuple[Fact, Author]]:
    """Read what is exported of a branch, and where each fact comes from."""
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
    """Write a fact as an item of a list. All its lines are indented, so that none of them is a
    heading, a mark or an item of the file."""
    title = f"**{_plain(fact.title)}**: " if fact.title else ""
    first, *rest = _hide_comments(fact.text).split("\n")
    return "\n".join((f"- {title}{first}", *(f"  {line}".rstrip() for line in rest)))


def _name_context(path: str) -> str:
    """Return what the folder of a path is called, without /memory/."""
    return path.rpartition("/")[0].removeprefix("/").removeprefix("memory/")


def _hide_comments(text: str) -> str:
    return _COMMENT.sub("&lt;", text)


def _plain(text: str) -> str:
    """Return a title that ends no emphasis and begins no comment."""
    return _hide_comments(text).replace("*", r"\*")


def _code(text: str) -> str:
    """Return a text of one line as code, whatever marks it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _write_day(at: float) -> str:
    return datetime.fromtimestamp(min(at, LATEST_AT), UTC).strftime("%Y-%m-%d %H:%M")
