"""The verbs `kept ls`, `show`, `rm`, `check`, `backup` and `size`: stored sources and the store."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import kb
from base.wording import inflect
from ctxmode.errors import UsageError, command, describe_empty
from ctxmode.operations.library import PurgeRequest, age_s, open_library
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render import highlight
from ctxmode.render.highlight import age, size
from ctxmode.render.passages import STALE
from ctxmode.render.results import purge_text
from ctxmode.render.terminal_output import for_stdout, is_runner_log, waiting

PAGE = "page"
FACT = "fact"
"""Kinds of `pages` and `memory`, which are not sources."""

Limit: TypeAlias = Annotated[int, Arg("only the latest N", "N")]
WithAll: TypeAlias = Annotated[bool, Arg("include superseded versions", flags=("--all",))]


def list_sources(
    asker: Asker,
    part: Annotated[str, Arg("only labels containing this", "PART")] = "",
    *,
    with_all: WithAll = False,
    limit: Limit = sys.maxsize,
) -> Answer:
    """List stored sources."""
    with open_library(asker.config) as library:
        found = library.sources(matching=part or None, all_versions=with_all)
        stored = len(library.sources()) if part and not found else 0
    shown = found[: max(limit, 0)]
    data = {"sources": [source_json(one) for one in shown], "total": len(found)}
    notices = library.store.notices
    if found:
        return Answer(data, "", notices, partial(_show_rows, shown))
    text = f"No source matches {part!r} ({stored} stored). List all: {command('kept ls')}"
    return Answer(data, text if stored else describe_empty("source"), notices)


def source_json(source: kb.Source) -> dict[str, Any]:
    """Return the documented JSON of a source: its fields, and whether it is completely indexed."""
    return asdict(source) | {"complete": source.complete}


def _show_rows(sources: Sequence[kb.Source]) -> None:
    from ctxmode.render import terminal  # noqa: PLC0415 - for people only

    columns: dict[str, Callable[[kb.Source], object]] = {
        "id": lambda one: one.id,
        "kept": lambda one: age(time.time() - one.indexed_at),
        "size": lambda one: size(one.bytes_total),
        "kind": lambda one: one.kind,
        "source": lambda one: one.label,
        "": lambda one: ", ".join(_list_remarks(one)),
    }
    right = ("id", "kept", "size")
    terminal.show_table(columns, sources, fixed=(*right, "kind"), right=right)


def _list_remarks(source: kb.Source) -> list[str]:
    remarks = {
        "superseded": source.superseded_by is not None,
        "pinned": source.pinned,
        f"indexed {size(source.bytes_indexed)}": not source.complete,
        str(source.converted): source.converted,
        f"{inflect(source.redactions, 'secret')} redacted": source.redactions,
    }
    return [remark for remark, is_so in remarks.items() if is_so]


def show_source(
    asker: Asker,
    source: Annotated[str, Arg(metavar="SOURCE")],
    *,
    lines: Annotated[str, Arg("only these lines, counted from 1", "A-B")] = "",
    contents: Annotated[bool, Arg("list its sections and their lines")] = False,
    terms: Annotated[bool, Arg("list its most distinctive words")] = False,
) -> Answer:
    """Print a stored source exactly."""
    with open_library(asker.config) as library:
        found, stale = library.renew(library.source(source))
        notices = [*library.store.notices, *_describe_state(found, stale)]
        found, is_more = library.complete(found)
        if not found.complete:
            parts = f"{size(found.bytes_indexed)} of {size(found.bytes_total)} indexed"
            rest = ". Show it again to index more." if is_more else "; the rest was lost"
            notices.append(f"{found.label}: {parts}{rest}")
        about = {"source": source_json(found), "stale": stale or None}
        if terms:
            words = library.terms(found)
            return _list("terms", about, words, words, notices)
        if contents:
            sections = library.contents(found)
            rows = [f"{one.start_line}-{one.end_line}  {one.title}" for one in sections]
            return _list("contents", about, [asdict(one) for one in sections], rows, notices)
        text = library.text(found)
    text = _choose_lines(text, lines, found.id) if lines else text
    language = found.language if found.converted is None else None
    show = partial(_show_text, text, language)
    return Answer({**about, "text": text.decode("utf-8", "replace")}, "", notices, show)


def _describe_state(source: kb.Source, stale: str) -> list[str]:
    if stale:
        return [f"{source.label}: {STALE[stale]}"]
    if source.path and source.superseded_by is not None:
        newer = f"replaced by source {source.superseded_by}"
        return [f"{source.label}: an older version, {newer}"]
    return []


def _list(
    name: str,
    about: Mapping[str, Any],
    items: Sequence[Any],
    rows: Sequence[str],
    notices: Sequence[str],
) -> Answer:
    text = "\n".join(map(highlight.harmless, rows))
    return Answer({**about, name: items}, text, notices)


def _show_text(text: bytes, language: str | None) -> None:
    if highlight.is_colour_wanted():
        sys.stdout.write(highlight.colour(text.decode("utf-8", "replace"), language))
    elif sys.stdout.isatty() or is_runner_log(sys.stdout):
        sys.stdout.write(for_stdout(text.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def _choose_lines(text: bytes, wanted: str, source: int) -> bytes:
    found = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12}))?", wanted)
    rows = text.splitlines(keepends=True)
    first = max(int(found[1]), 1) if found else 1
    last = int(found[2] or first) if found else 0
    if first > last:
        remedy = f"Use --lines A-B or one number; source {source} ends at line {len(rows):,}."
        raise UsageError(f"invalid --lines {wanted!r}", remedy)
    if first > len(rows):
        problem = f"source {source} has no lines {wanted}: it ends at line {len(rows):,}"
        raise UsageError(problem, f"Use lines from 1 to {len(rows)}.")
    return b"".join(rows[first - 1 : last])


def remove_sources(
    asker: Asker,
    *,
    source: Annotated[str | None, Arg("labels containing this, or an output ID", "PART")] = None,
    older_than: Annotated[str | None, Arg("90s, 30m, 12h, 7d, 2w", "AGE")] = None,
    kind: Annotated[str | None, Arg("such as log, markdown, code", "KIND")] = None,
    session: Annotated[str | None, Arg("only sources of this session", "NAME")] = None,
    superseded: Annotated[bool, Arg("only older versions")] = False,
    expired: Annotated[bool, Arg("only expired sources")] = False,
    pinned: Annotated[bool, Arg("include pinned sources")] = False,
    everything: Annotated[bool, Arg("all data of this project", flags=("--all",))] = False,
    yes: Annotated[bool, Arg("confirm --all")] = False,
) -> Answer:
    """Permanently delete stored sources."""
    if kind == FACT:
        others = (source, older_than, session)
        return _retract_facts(asker, has_others=any(others) or superseded or pinned or everything)
    if kind == PAGE:
        raise UsageError(
            "cannot delete --kind page: pages are not sources",
            "To delete a page: context-mode pages forget SLUG --erase",
        )
    if everything and not yes:
        raise UsageError("--all deletes all data of this project", "To confirm, add --yes.")
    request = PurgeRequest(
        source=source,
        older_than_s=None if older_than is None else age_s(older_than),
        kind=kind,
        session=session,
        superseded=superseded,
        pinned=pinned,
        expired=expired,
        everything=everything,
    )
    with (
        open_library(asker.config) as library,
        nullcontext() if asker.wants_data else waiting("deleting"),
    ):
        purged = library.purge(request)
        sessions = library.purge_sessions(request)
        has_map = library.purge_map(request)
    counts = {"sources": purged.sources, "chunks": purged.chunks, "bytes": purged.text_bytes}
    if everything:
        counts |= {"sessions": sessions, "maps": int(has_map)}
    return Answer(counts, purge_text(purged, sessions, has_map=has_map), library.store.notices)


def _retract_facts(asker: Asker, *, has_others: bool) -> Answer:
    """Retract expired facts."""
    from ctxmode.operations.facts import open_memory  # noqa: PLC0415 - few ask

    if has_others:
        raise UsageError(
            "--kind fact excludes other filters: it retracts expired facts",
            "Remove the other filters. To delete one fact: context-mode memory forget ID",
        )
    with open_memory(asker.config) as memory:
        paths = [fact.path for fact in memory.purge()]
    text = "\n".join([f"{inflect(len(paths), 'expired fact')} retracted", *paths])
    return Answer({"facts": paths}, text)


def check_store(
    asker: Asker, *, repair: Annotated[bool, Arg("rebuild damaged indexes")] = False
) -> Answer:
    """Verify the file, its references and its indexes."""
    with open_library(asker.config) as library:
        problems = library.check(repair=repair)
    lines = problems or [f"No problems found in {library.store.path}."]
    if problems and not repair:
        lines = [*problems, "Repair it: context-mode kept check --repair"]
    data = {"ok": not problems, "problems": problems}
    notices = library.store.notices
    return Answer(data, "\n".join(lines), notices, is_failure=bool(problems))


def back_up_store(asker: Asker, file: Annotated[str, Arg("a new file", "FILE")]) -> Answer:
    """Copy the store, consistently, while others read and write."""
    target = Path.cwd() / file
    with open_library(asker.config) as library:
        copied = library.backup(target)
    data = {"file": str(target), "bytes": copied}
    return Answer(data, f"Copied {size(copied)} to {target}.", library.store.notices)


def measure_store(asker: Asker) -> Answer:
    """Count sources, chunks and bytes."""
    with open_library(asker.config) as library:
        stats = library.stats()
    path = library.store.path
    lines = [
        f"{path}: {size(stats['file_bytes'])} on disk",
        f"{inflect(stats['sources'], 'source')} ({stats['superseded']:,} superseded),"
        f" {inflect(stats['chunks'], 'chunk')}, {size(stats['text_bytes'])} of text",
    ]
    if stats["pending_bytes"]:
        lines.append(f"{size(stats['pending_bytes'])} still to be indexed")
    return Answer({"file": str(path)} | stats, "\n".join(lines), library.store.notices)


OPERATIONS: dict[str, Operation] = {
    "ls": list_sources,
    "show": show_source,
    "rm": remove_sources,
    "check": check_store,
    "backup": back_up_store,
    "size": measure_store,
}
