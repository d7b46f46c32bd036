"""Pages as lines for users and agents: lists, commits, results of a push. Control characters of a
page never reach a terminal: texts are shown on one line or cleaned."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from base.wording import inflect
from ctxmode.config.file_names import CAPTURE_OFF
from ctxmode.render.highlight import age, one_line
from memory.pages import (
    DRAFTS_FOLDER,
    BufferStatus,
    Commit,
    Forgotten,
    LogEntry,
    PageRow,
    PagesStatus,
    PulledPages,
    Pushed,
    ReadPage,
    SectionChange,
    SectionDiff,
    Version,
    Written,
    diff_text,
)

SHA_CHARS = 7
SUMMARY_CHARS = 200
STATES = {
    "new": "not pushed yet",
    "edited": "edited since the last push",
    "unchanged": "unchanged since the last push",
    "behind": "behind: a newer version was pushed",
    "diverged": "edited, and a newer version was pushed: the next push merges",
    "removed": "removed from the repository",
    "broken": "cannot be read",
}
CAPTURED = f"""\
Turns are captured from now on: requests and answers in this project are stored, shortened and
without secrets, in {DRAFTS_FOLDER}/raw/sessions/_pending until a push has distilled them. git
ignores them. To turn capture off, set {CAPTURE_OFF}=1. Agents get ctx_pages when they next list \
their tools."""


def say_begun(begun: Mapping[str, Any]) -> Iterator[str]:
    """Write where pages are stored, and whether turns are captured."""
    state = "Pages are set up" if begun["is_new"] else "Pages are already set up"
    yield f"{state}: drafts in {begun['drafts']}, pushed to {begun['repository']}"
    yield CAPTURED if begun["captures"] else f"Turns are not captured: {CAPTURE_OFF} is set."


def say_written(written: Written) -> Iterator[str]:
    """Write where a draft is saved, and the next step."""
    done = "Saved" if written.is_new else "Replaced"
    yield f"{done} {DRAFTS_FOLDER}/{written.path}; push commits it."
    yield from _list_redactions(written.redactions)


def _list_redactions(count: int) -> Iterator[str]:
    if count:
        yield f"{inflect(count, 'secret')} redacted, also in the draft."


def page_text(page: ReadPage) -> str:
    """Write a page after its notice."""
    lines = [page.notice] if page.notice else []
    return "\n".join([*lines, page.text.removesuffix("\n")])


def list_rows(rows: Sequence[PageRow]) -> Iterator[str]:
    """List pages, one line each, with summaries."""
    for row in rows:
        tags = f" [{', '.join(map(one_line, row.tags))}]" if row.tags else ""
        state = f" ({row.state})" if row.state not in ("", "unchanged") else ""
        yield f"{row.type} {one_line(row.slug)}{state}: {one_line(row.title)}{tags}"
        if row.summary:
            yield f"  {one_line(row.summary)[:SUMMARY_CHARS]}"


def say_status(status: PagesStatus) -> Iterator[str]:
    """Write the state of drafts, buffers and the repository."""
    if not status.is_ready:
        yield "Pages are not set up in this project. Set them up: context-mode pages init"
        return
    yield f"repository: {status.repository}"
    head = f"{inflect(status.pages, 'page')}, the newest commit {status.head[:SHA_CHARS]}"
    yield head if status.head else "no commits yet"
    changed = [path for path, state in status.drafts.items() if state != "unchanged"]
    yield f"drafts: {len(changed)} to review, {len(status.drafts) - len(changed)} unchanged"
    for path in changed:
        yield f"  {one_line(path)}: {STATES[status.drafts[path]]}"
        if path in status.problems:
            problem = status.problems[path]
            said = (problem["message"], problem["remedy"])
            yield from (f"    {one_line(line)}" for line in said if line)
    yield from _list_buffers(status.buffers)


def say_captured(buffers: Sequence[BufferStatus], *, is_on: bool) -> Iterator[str]:
    """Write whether turns are captured, and list the stored ones."""
    yield "turns are captured" if is_on else "turns are not captured"
    yield from _list_buffers(buffers)


def _list_buffers(buffers: Sequence[BufferStatus]) -> Iterator[str]:
    turns = sum(one.turns for one in buffers)
    yield f"captured: {inflect(turns, 'turn')} of {inflect(len(buffers), 'session')}"
    for buffer in buffers:
        dropped = f", {buffer.dropped} older ones dropped" if buffer.dropped else ""
        turns_of = inflect(buffer.turns, "turn")
        yield f"  {one_line(buffer.session)}: {turns_of}, {age(buffer.age_s)} ago{dropped}"


def say_pushed(pushed: Pushed) -> Iterator[str]:
    """Write what a push committed, or what to do first."""
    if pushed.directive:
        yield pushed.directive.removesuffix("\n")
        return
    if pushed.reason == "nothing":
        yield "Nothing to push: no draft has changed since the last push."
        yield from pushed.warnings
        return
    done = "would be pushed" if pushed.is_dry_run else f"pushed as {pushed.commit[:SHA_CHARS]}"
    yield f"{inflect(len(pushed.pages), 'page')} {done}:"
    yield from (f"  {'+' if one.is_new else '~'} {one_line(one.path)}" for one in pushed.pages)
    if pushed.archived:
        yield f"The turns of {one_line(pushed.archived)} are archived."
    yield from _list_redactions(pushed.redactions)
    yield from map(one_line, pushed.warnings)


def say_left(of_runs: Mapping[str, bool]) -> Iterator[str]:
    """List the drafts that a push skipped because a run wrote them, and how to push them."""
    if not of_runs:
        return
    yield f"{inflect(len(of_runs), 'draft')} from a run:"
    for path, is_edited in of_runs.items():
        yield f"  {one_line(path)}{' (edited since)' * is_edited}"
    yield (
        "Not pushed under your name. Review (context-mode pages diff SLUG --local), then push: "
        'context-mode pages push --from-run (in ctx_pages "from_run": true)'
    )


def say_pulled(pulled: PulledPages) -> Iterator[str]:
    """Write what a pull changed."""
    if pulled.before == pulled.after:
        yield "Nothing new to pull."
        return
    yield f"{pulled.before[:SHA_CHARS] or 'nothing'}..{pulled.after[:SHA_CHARS]}:"
    yield from (f"  {one_line(path)}" for path in pulled.paths)
    if pulled.drafts:
        yield f"{inflect(len(pulled.drafts), 'draft')} updated."
    for path in pulled.diverged:
        yield f"  {one_line(path)} has local edits: push it to merge"


def describe_commit(commit: Commit) -> str:
    """Describe a commit in one line."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(commit.at))
    agent = f" with {one_line(commit.agent)}" if commit.agent else ""
    by = f"{one_line(commit.author)}{agent}"
    return f"{commit.sha[:SHA_CHARS]} {when} {by}: {one_line(commit.subject)}"


def list_log(entries: Sequence[LogEntry]) -> Iterator[str]:
    """List the commits of all pages with the changed paths."""
    for commit, paths in entries:
        yield describe_commit(commit)
        yield from (f"  {one_line(path)}" for path in paths)


def list_versions(versions: Sequence[Version], now: float) -> Iterator[str]:
    """List the versions of a page with their changes, separated by blank lines."""
    for number, one in enumerate(versions):
        yield from [""] if number else []
        yield describe_commit(one.commit)
        if one.reasoning_summary:
            yield f"  {one_line(one.reasoning_summary)[:SUMMARY_CHARS]}"
        diff = diff_text(one.diff, now=now).removesuffix("\n")
        yield "  the page was removed" if one.is_removal else diff


def list_blamed(blamed: SectionDiff, now: float) -> Iterator[str]:
    """List the sections of a page with the commits that introduced and changed them."""
    yield f"blame: {one_line(blamed.slug)}  {blamed.to_sha[:SHA_CHARS]}"
    if blamed.preamble is not None:
        yield "(before the first section)"
        yield from _list_origins(blamed.preamble, now)
    for section in blamed.sections:
        yield f"## {one_line(section.heading)}"
        yield from _list_origins(section, now)


def _list_origins(section: SectionChange, now: float) -> Iterator[str]:
    known = {
        "introduced by": section.introduced_by,
        "heading since": section.heading_since,
        "changed by": section.changed_by,
    }
    for word, commit in known.items():
        if commit is not None:
            when = age(max(now - commit.at, 0.0))
            yield f"  {word} {commit.sha[:SHA_CHARS]} ({one_line(commit.author)}, {when} ago)"


def say_exported(paths: Sequence[str]) -> Iterator[str]:
    """List the files that an export wrote."""
    yield f"{inflect(len(paths), 'file')} written:"
    yield from map(one_line, paths)


def say_forgotten(gone: Forgotten) -> Iterator[str]:
    """Write what was removed, and where copies may remain."""
    how = "erased, also from the history" if gone.is_erased else "removed; its history is kept"
    yield f"{one_line(gone.path)} is {how}."
    if gone.commits:
        yield f"{inflect(gone.commits, 'commit')} rewritten."
    yield from map(one_line, gone.notes)
