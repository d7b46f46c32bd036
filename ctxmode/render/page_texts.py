"""Pages as text for people and agents: lists, commits, what a push did. No control character of a
page's own reaches a terminal, since what is shown of it is a line or was cleaned."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from ctxmode.errors import describe_empty
from ctxmode.render.highlight import age, inflect, one_line
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
    "unchanged": "as it was pushed",
    "behind": "behind: a newer version was pushed",
    "diverged": "edited, and a newer version was pushed: the next push merges",
    "removed": "was forgotten in the repository",
    "broken": "cannot be read",
}


def written_text(written: Written) -> str:
    """Say where a draft stands, and what comes next."""
    done = "is written" if written.is_new else "is written anew"
    lines = [f"{DRAFTS_FOLDER}/{written.path} {done}; push commits it."]
    return "\n".join([*lines, *_redacted(written.redactions)])


def page_text(page: ReadPage) -> str:
    """Show a page, below what is to be known of it."""
    lines = [page.notice] if page.notice else []
    return "\n".join([*lines, page.text.removesuffix("\n")])


def list_text(rows: Sequence[PageRow]) -> str:
    """List pages, a line each and their summaries."""
    return "\n".join(line for row in rows for line in _row(row)) or describe_empty("page")


def _row(row: PageRow) -> Iterator[str]:
    tags = f" [{', '.join(map(one_line, row.tags))}]" if row.tags else ""
    state = f" ({row.state})" if row.state not in ("", "unchanged") else ""
    yield f"{row.type} {one_line(row.slug)}{state}: {one_line(row.title)}{tags}"
    if row.summary:
        yield f"  {one_line(row.summary)[:SUMMARY_CHARS]}"


def status_text(status: PagesStatus) -> str:
    """Say how drafts, buffers and the repository stand."""
    if not status.is_ready:
        return "Pages are not begun here. Begin with: context-mode pages init"
    head = f"{inflect(status.pages, 'page')}, the newest commit {status.head[:SHA_CHARS]}"
    lines = [f"repository: {status.repository}", head if status.head else "nothing is pushed yet"]
    changed = [one for one in status.drafts if one.state != "unchanged"]
    kept = len(status.drafts) - len(changed)
    lines.append(f"drafts: {len(changed)} to look at, {kept} as pushed")
    for one in changed:
        lines.append(f"  {one_line(one.path)}: {STATES[one.state]}")
        if one.problem is not None:
            lines.append(f"    {one_line(one.problem.message)}")
            lines += [f"    {one_line(one.problem.remedy)}"] if one.problem.remedy else []
    return "\n".join([*lines, *_buffer_lines(status.buffers)])


def capture_text(buffers: Sequence[BufferStatus], *, is_on: bool) -> str:
    """Say whether turns are captured, and which are kept."""
    state = "turns are captured" if is_on else "turns are not captured"
    return "\n".join([state, *_buffer_lines(buffers)])


def _buffer_lines(buffers: Sequence[BufferStatus]) -> Iterator[str]:
    turns = sum(one.turns for one in buffers)
    yield f"captured: {inflect(turns, 'turn')} of {inflect(len(buffers), 'session')}"
    for buffer in buffers:
        dropped = f", {buffer.dropped} older ones dropped" if buffer.dropped else ""
        turns_of = inflect(buffer.turns, "turn")
        yield f"  {one_line(buffer.session)}: {turns_of}, {age(buffer.age_s)} ago{dropped}"


def pushed_text(pushed: Pushed) -> str:
    """Say what a push committed, or what to do first."""
    if pushed.directive:
        return pushed.directive.removesuffix("\n")
    if pushed.reason == "nothing":
        return "\n".join(["Nothing to push: all drafts are as they were pushed.", *pushed.warnings])
    pages = inflect(len(pushed.pages), "page")
    if pushed.is_dry_run:
        lines = [f"{pages} would be pushed:"]
    else:
        lines = [f"{pages} pushed as {pushed.commit[:SHA_CHARS]}:"]
    lines += [f"  {'+' if one.is_new else '~'} {one_line(one.path)}" for one in pushed.pages]
    if pushed.archived:
        lines.append(f"The turns of {one_line(pushed.archived)} are put away.")
    return "\n".join([*lines, *_redacted(pushed.redactions), *map(one_line, pushed.warnings)])


def left_to_run_text(of_runs: Mapping[str, bool]) -> str:
    """List the drafts that a push left since a run wrote them, and say how to push them."""
    names = [f"  {one_line(path)}{' (edited since)' * edited}" for path, edited in of_runs.items()]
    remedy = (
        "Not pushed as yours. Read them (context-mode pages diff SLUG --local), then: context-mode "
        'pages push --from-run (in ctx_pages "from_run": true)'
    )
    return "\n".join((f"{inflect(len(names), 'draft')} from a run:", *names, remedy)) * bool(names)


def pulled_text(pulled: PulledPages) -> str:
    """Say what a pull brought."""
    if pulled.before == pulled.after:
        return "Nothing new to pull."
    lines = [f"{pulled.before[:SHA_CHARS] or 'nothing'}..{pulled.after[:SHA_CHARS]}:"]
    lines += [f"  {one_line(path)}" for path in pulled.paths]
    if pulled.drafts:
        lines.append(f"{inflect(len(pulled.drafts), 'draft')} brought up to date.")
    lines += [f"  {one_line(path)} was edited here: push it to merge" for path in pulled.diverged]
    return "\n".join(lines)


def history_text(commits: Sequence[Commit]) -> str:
    """List commits, the newest first."""
    return "\n".join(map(_commit_line, commits)) or "No commit has it."


def log_text(entries: Sequence[LogEntry]) -> str:
    """List the commits of all pages with what they changed."""
    lines = list[str]()
    for commit, paths in entries:
        lines.append(_commit_line(commit))
        lines += [f"  {one_line(path)}" for path in paths]
    return "\n".join(lines) or "Nothing is pushed yet."


def evolution_text(versions: Sequence[Version], now: float) -> str:
    """Show each version of a page with what changed in it."""
    parts = list[str]()
    for one in versions:
        lines = [_commit_line(one.commit)]
        if one.reasoning_summary:
            lines.append(f"  {one_line(one.reasoning_summary)[:SUMMARY_CHARS]}")
        if one.is_removal:
            lines.append("  the page was removed")
        else:
            lines.append(diff_text(one.diff, now=now).removesuffix("\n"))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) or "No commit has it."


def blame_text(blamed: SectionDiff, now: float) -> str:
    """Say of each section of a page which commits it is from."""
    lines = [f"blame: {one_line(blamed.slug)}  {blamed.to_sha[:SHA_CHARS]}"]
    if blamed.preamble is not None:
        lines += _blame_section("(before the first section)", blamed.preamble, now)
    for section in blamed.sections:
        lines += _blame_section(f"## {one_line(section.heading)}", section, now)
    return "\n".join(lines)


def _blame_section(heading: str, section: SectionChange, now: float) -> Iterator[str]:
    yield heading
    known = {
        "introduced by": section.introduced_by,
        "heading since": section.heading_since,
        "changed by": section.changed_by,
    }
    for word, commit in known.items():
        if commit is not None:
            yield f"  {word} {_who(commit, now)}"


def _who(commit: Commit, now: float) -> str:
    name = one_line(commit.author)
    return f"{commit.sha[:SHA_CHARS]} ({name}, {age(max(now - commit.at, 0.0))} ago)"


def _commit_line(commit: Commit) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(commit.at))
    agent = f" with {one_line(commit.agent)}" if commit.agent else ""
    by = f"{one_line(commit.author)}{agent}"
    return f"{commit.sha[:SHA_CHARS]} {when} {by}: {one_line(commit.subject)}"


def exported(paths: Sequence[str]) -> str:
    """Say what an export wrote."""
    return "\n".join([f"{inflect(len(paths), 'file')} written:", *map(one_line, paths)])


def forgotten_text(gone: Forgotten) -> str:
    """Say what is gone, and where it may still be."""
    how = "erased, out of the history too" if gone.is_erased else "forgotten; its history stays"
    lines = [f"{one_line(gone.path)} is {how}."]
    if gone.commits:
        lines.append(f"{inflect(gone.commits, 'commit')} written anew.")
    return "\n".join([*lines, *map(one_line, gone.notes)])


def _redacted(count: int) -> list[str]:
    return [f"{inflect(count, 'secret')} replaced by a mark, in the draft too."] if count else []
