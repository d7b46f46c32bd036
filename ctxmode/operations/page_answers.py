"""What may be asked of pages, a row an action: the answer as data and as text, for every skin."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ctxmode.errors import UsageError
from ctxmode.render import page_texts
from executor.project import RunDrafts
from memory.pages import (
    EVOLUTION_MAX,
    HISTORY_MAX,
    PAGE_TYPES,
    Buffer,
    Pages,
    Pushed,
    PushRequest,
    compare_all,
    diff_json,
    diff_text,
    page_path,
    slug_of,
)

LIMIT_MAX = 10_000
PUSHES_NOTHING = ("merge_required", "distill_required")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What is asked for, each field as a person or a client gave it."""

    slug: str = ""
    slugs: tuple[str, ...] = ()
    type: str = ""
    tag: str = ""
    text: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    agent: str = ""
    session: str = ""
    distill_done: bool = False
    source_slug: str = ""
    no_distill: bool = False
    is_dry_run: bool = False
    start: str = ""  # a commit
    end: str = ""  # a commit
    has_blame: bool = False
    is_local: bool = False
    limit: int = 0
    remote: str = ""  # what is pulled from
    folder: str = ""  # what is exported into
    is_erased: bool = False
    is_forced: bool = False
    is_from_run: bool = False  # push the drafts of runs; else they stay
    buffer: Buffer | None = None
    changes: Path | None = None  # the folder that knows the drafts of runs


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The answer."""

    data: Mapping[str, Any]
    text: str
    is_paused: bool = False  # a push committed nothing; the text says what to do


def answer(pages: Pages, action: str, asked: PageRequest) -> PageAnswer:
    """Do what is asked for.

    Raises:
        MemoryRoomError: it cannot be done; nothing was written.
        UsageError: a field is not what it must be.
    """
    if asked.type and asked.type not in PAGE_TYPES:
        raise UsageError(f"there is no type {asked.type[:40]!r}", f"One of {', '.join(PAGE_TYPES)}")
    return ACTIONS[action](pages, asked)


def _write(pages: Pages, asked: PageRequest) -> PageAnswer:
    if asked.type == "source" and not asked.text.strip():
        template = pages.capture_template(asked.buffer, slug=asked.slug)
        return PageAnswer({"template": template}, template)
    if not asked.text.strip() and not asked.fields:
        raise UsageError("the page has no text", "Give its Markdown, with or without fields.")
    name, kind = _split(asked.slug, asked.type)
    written = pages.write(
        *(name, asked.text, kind, asked.fields), agent=asked.agent, is_forced=asked.is_forced
    )
    return PageAnswer(asdict(written), page_texts.written_text(written))


def _read(pages: Pages, asked: PageRequest) -> PageAnswer:
    page = pages.read(_name(asked), commit=asked.end)
    return PageAnswer(asdict(page), page_texts.page_text(page))


def _list(pages: Pages, asked: PageRequest) -> PageAnswer:
    rows = pages.list_pages(of_type=asked.type, tag=asked.tag)
    return PageAnswer({"pages": [asdict(one) for one in rows]}, page_texts.list_text(rows))


def _status(pages: Pages, asked: PageRequest) -> PageAnswer:
    del asked
    found = pages.status()
    buffers = [one._asdict() for one in found.buffers]
    data = {**asdict(found), "repository": str(found.repository), "buffers": buffers}
    return PageAnswer(data, page_texts.status_text(found))


def _push(pages: Pages, asked: PageRequest) -> PageAnswer:
    slugs = asked.slugs or ((asked.slug,) if asked.slug else ())
    if asked.tag:
        if slugs:
            raise UsageError("a tag and slugs exclude each other", "Leave one of them out.")
        rows = pages.list_pages(of_type=asked.type, tag=asked.tag)
        slugs = tuple(one.path for one in rows if one.state)
        if not slugs:
            raise UsageError(f"no draft has the tag {asked.tag[:80]!r}", "pages list has them")
    chosen, left = _choose_drafts(pages, asked, slugs)
    told = page_texts.left_to_run_text(left)
    if left and not chosen:
        pushed = Pushed(reason="from_run", directive=told, is_dry_run=asked.is_dry_run)
        return PageAnswer(asdict(pushed), told, is_paused=True)
    same: dict[str, Any] = {one.name: getattr(asked, one.name, "") for one in fields(PushRequest)}
    author = re.sub("( <|$)", r" and a run\1", pages.author, count=1) if asked.is_from_run else ""
    pushed = pages.push(
        PushRequest(**{**same, "slugs": chosen or slugs, "author": author}), asked.buffer
    )
    if pushed.commit:
        _forget_run(pages, asked, *(one.path for one in pushed.pages))
    text = "\n".join(filter(None, (page_texts.pushed_text(pushed), told)))
    is_paused = pushed.reason in PUSHES_NOTHING or bool(left)
    pushed = replace(pushed, warnings=(*pushed.warnings, *filter(None, [told])))
    return PageAnswer(asdict(pushed), text, is_paused)


def _choose_drafts(
    pages: Pages, asked: PageRequest, slugs: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, bool]]:
    """Return the drafts to push, none if no run matters, and a run's that stay: if edited since."""
    drafts = {pages.drafts.folder / path: path for path in pages.drafts.list_paths()}
    found = dict(RunDrafts(asked.changes).find(drafts)) if asked.changes else {}
    states = compare_all(pages, [drafts[at] for at in found]) if found else []
    as_pushed = {one.draft.path for one in states if one.state == "unchanged"}
    of_runs = {drafts[at]: found[at] for at in found if drafts[at] not in as_pushed}
    there = [*drafts.values()]
    named = [path for slug in slugs for path in pages.find_drafts(slug, there)] if slugs else there
    named = [path for path in named if not asked.type or (slug_of(path) or [""])[0] == asked.type]
    if asked.is_from_run:
        chosen = tuple(path for path in named if path in of_runs)
        if not chosen:
            raise UsageError("no such draft is from a run", "Leave --from-run out.")
        return chosen, {}
    source = page_path("source", asked.source_slug) if asked.distill_done else ""
    left = {path: of_runs[path] for path in (*named, source) if path in of_runs}
    chosen = tuple(path for path in named if not {path, source} & left.keys())
    return chosen if left else (), left


def _forget_run(pages: Pages, asked: PageRequest, *paths: str) -> None:
    if asked.changes:
        RunDrafts(asked.changes).forget(pages.drafts.folder / path for path in paths)


def _pull(pages: Pages, asked: PageRequest) -> PageAnswer:
    pulled = pages.pull(asked.remote) if asked.remote else pages.pull()
    return PageAnswer(asdict(pulled), page_texts.pulled_text(pulled))


def _history(pages: Pages, asked: PageRequest) -> PageAnswer:
    commits = pages.history(_name(asked), _limit(asked, HISTORY_MAX))
    data = {"slug": asked.slug, "commits": [asdict(one) for one in commits]}
    return PageAnswer(data, page_texts.history_text(commits))


def _log(pages: Pages, asked: PageRequest) -> PageAnswer:
    entries = pages.log(_limit(asked, HISTORY_MAX))
    rows = [{**asdict(commit), "paths": list(paths)} for commit, paths in entries]
    return PageAnswer({"commits": rows}, page_texts.log_text(entries))


def _evolution(pages: Pages, asked: PageRequest) -> PageAnswer:
    now = pages.clock()
    versions = pages.evolution(_name(asked), _limit(asked, EVOLUTION_MAX))
    rows = [
        {
            "commit": asdict(one.commit),
            "reasoning_summary": one.reasoning_summary,
            "is_removal": one.is_removal,
            "diff": diff_json(one.diff),
        }
        for one in versions
    ]
    data = {"slug": asked.slug, "versions": rows}
    return PageAnswer(data, page_texts.evolution_text(versions, now))


def _diff(pages: Pages, asked: PageRequest) -> PageAnswer:
    diff = pages.diff(
        _name(asked),
        start=asked.start,
        end=asked.end,
        has_blame=asked.has_blame,
        is_local=asked.is_local,
    )
    return PageAnswer(diff_json(diff), diff_text(diff, now=pages.clock()).removesuffix("\n"))


def _blame(pages: Pages, asked: PageRequest) -> PageAnswer:
    blamed = pages.blame(_name(asked))
    return PageAnswer(diff_json(blamed), page_texts.blame_text(blamed, pages.clock()))


def _export(pages: Pages, asked: PageRequest) -> PageAnswer:
    paths = pages.export(Path(asked.folder))
    return PageAnswer({"folder": asked.folder, "paths": list(paths)}, page_texts.exported(paths))


def _forget(pages: Pages, asked: PageRequest) -> PageAnswer:
    gone = pages.forget(
        _name(asked),
        is_erased=asked.is_erased,
        is_forced=asked.is_forced,
        why=asked.message,
        agent=asked.agent,
    )
    _forget_run(pages, asked, gone.path)
    return PageAnswer(asdict(gone), page_texts.forgotten_text(gone))


def _name(asked: PageRequest) -> str:
    """Name the page that is meant; its type tells namesakes apart."""
    if not asked.slug.strip():
        raise UsageError("no page is named", "Give its slug; the list has them.")
    return f"{asked.type}/{asked.slug}" if asked.type and "/" not in asked.slug else asked.slug


def _split(slug: str, kind: str) -> tuple[str, str]:
    """Tell the slug and the type of a page that is to be written."""
    if not slug.strip():
        raise UsageError("no page is named", "Give a slug, such as retry-policy.")
    before, slash, after = slug.partition("/")
    if slash and before in PAGE_TYPES and kind in ("", before):
        return after, before
    return slug, kind


def _limit(asked: PageRequest, default: int) -> int:
    if not 0 <= asked.limit <= LIMIT_MAX:
        raise UsageError(f"limit cannot be {asked.limit}", f"Give 1 to {LIMIT_MAX}.")
    return asked.limit or default


ACTIONS: Mapping[str, Callable[[Pages, PageRequest], PageAnswer]] = {
    "write": _write,
    "read": _read,
    "list": _list,
    "status": _status,
    "push": _push,
    "pull": _pull,
    "diff": _diff,
    "blame": _blame,
    "history": _history,
    "evolution": _evolution,
    "log": _log,
    "export": _export,
    "forget": _forget,
}
