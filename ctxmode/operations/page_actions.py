"""Actions on pages: write, push, read and compare them, and capture turns to distil."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError, command, describe_empty
from ctxmode.operations.operation import Answer, Arg, Asker, TextFile, check_limit
from ctxmode.operations.page_buffer import RECORD_BYTES_MAX, capture_turn, find_turns
from ctxmode.operations.page_repository import find_repository
from ctxmode.operations.pages import begin, is_captured, open_pages, translate_page_errors
from ctxmode.render import page_texts as texts
from executor.project import RunDrafts
from memory.pages import (
    EVOLUTION_MAX,
    HISTORY_MAX,
    PAGE_TYPES,
    Pages,
    PageType,
    Pushed,
    PushRequest,
    compare_all,
    diff_json,
    diff_text,
    page_path,
    slug_of,
)

_TYPES = ", ".join(PAGE_TYPES)
AnyType: TypeAlias = PageType | Literal[""]
Slug: TypeAlias = Annotated[str, Arg(metavar="SLUG")]
Namesake: TypeAlias = Annotated[
    AnyType, Arg(f"type, if several have the slug: {_TYPES}", "TYPE", ("--type",), "type")
]
OfType: TypeAlias = Annotated[
    AnyType, Arg(f"only pages of TYPE: {_TYPES}", "TYPE", ("--type",), "type")
]
Tag: TypeAlias = Annotated[str, Arg("only pages with this tag", "WORD")]
Limit: TypeAlias = Annotated[int, Arg(f"up to N entries (default: {HISTORY_MAX})", "N")]
Force: TypeAlias = Annotated[bool, Arg("discard the draft's unpushed edits")]

NO_FILE = TextFile()
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
NO_COMMIT = f"No commits yet. Push the page: {command('pages push')}"
NO_PUSH = f"No commits yet. Push pages: {command('pages push')}"
PUSHES_NOTHING = ("merge_required", "distill_required")


def begin_pages(asker: Asker) -> Answer:
    """Set up pages in this project, and the capture of its sessions' turns."""
    with open_pages(asker.config) as pages:
        is_new = begin(asker.config, pages)
        drafts, repository = str(pages.drafts.folder), str(pages.path())
    captures = is_captured(asker.config)
    data = {"is_new": is_new, "drafts": drafts, "repository": repository, "captures": captures}
    return _answer(data, texts.say_begun(data))


def _answer(data: Mapping[str, Any], lines: Iterable[str], none: str = "") -> Answer:
    return Answer(data, "\n".join(lines) or none)


def write_page(
    asker: Asker,
    slug: Slug,
    file: Annotated[
        TextFile, Arg("Markdown, with or without fields; - is stdin", "FILE", name="text")
    ] = NO_FILE,
    *,
    kind: Annotated[AnyType, Arg(f"type of the page: {_TYPES}", "TYPE", ("--type",), "type")] = "",
    tags: Annotated[
        tuple[str, ...], Arg("add a tag; repeatable", "WORD", ("--tag",))
    ] = (),
    sources: Annotated[tuple[str, ...], Arg(
        "add a source page; repeatable", "SLUG", ("--source",)
    )] = (),
    related: Annotated[
        tuple[str, ...], Arg("add a related page; repeatable", "SLUG")
    ] = (),
    summary: Annotated[str | None, Arg("reason, in one line", "TEXT")] = None,
    fields: Annotated[
        Mapping[str, Any], Arg("set another field; repeatable", "NAME=VALUE", ("--field",))
    ] = NO_FIELDS,
    force: Force = False,
) -> Answer:  # fmt: skip
    """Write a draft; for type source without FILE show a template."""
    lists = {"tags": tags, "sources": sources, "related": related}
    given = {**fields, **{name: [*values] for name, values in lists.items() if values}}
    if summary is not None:
        given["reasoning_summary"] = summary
    with open_pages(asker.config) as pages:
        if not file.text.strip():
            if kind == "source":
                turns = find_turns(asker.config, pages, asker.session)
                template = pages.capture_template(turns, slug=slug)
                return Answer({"template": template}, template)
            if not given:
                raise UsageError(
                    "the page has no text", "Give its Markdown, with or without fields."
                )
        name, of_type = _split(slug, kind)
        written, parent = pages.write(
            name, file.text, of_type, given, agent=asker.agent, is_forced=force
        )
    return _answer(asdict(written) | {"parent_sha": parent}, texts.say_written(written))


def _split(slug: str, kind: AnyType) -> tuple[str, str]:
    """Split `type/slug` into the slug and the type of a page to write."""
    if not slug.strip():
        raise UsageError("missing slug", "Give a slug, such as retry-policy.")
    before, slash, after = slug.partition("/")
    if slash and before in PAGE_TYPES and kind in ("", before):
        return after, before
    return slug, kind


def push_pages(
    asker: Asker,
    slugs: Annotated[tuple[str, ...], Arg("only these pages", "SLUG")] = (),
    *,
    kind: OfType = "",
    tag: Tag = "",
    message: Annotated[str, Arg("commit message", "TEXT", ("--message", "-m"))] = "",
    no_distill: Annotated[bool, Arg("do not distil the session")] = False,
    distill_done: Annotated[bool, Arg("the source page has been written")] = False,
    source_slug: Annotated[str, Arg("slug of that source page", "SLUG")] = "",
    from_run: Annotated[
        bool, Arg("only drafts written by a run; the author is you and a run")
    ] = False,
    dry_run: Annotated[bool, Arg("commit nothing")] = False,
) -> Answer:
    """Commit changed drafts; if a session must be distilled first, show how."""
    with open_pages(asker.config) as pages:
        if tag:
            if slugs:
                raise UsageError("a tag and slugs exclude each other", "Remove one of them.")
            rows = pages.list_pages(of_type=kind, tag=tag)
            slugs = tuple(one.path for one in rows if one.state)
            if not slugs:
                raise UsageError(
                    f"no changed draft has the tag {tag[:80]!r}",
                    f"List pages: {command('pages list')}",
                )
        wanted = PushRequest(
            slugs=slugs,
            message=message,
            agent=asker.agent,
            session=asker.session,
            type=kind,
            distill_done=distill_done,
            source_slug=source_slug,
            no_distill=no_distill,
            is_dry_run=dry_run,
        )
        chosen, left = _choose_drafts(asker.config, pages, wanted, is_from_run=from_run)
        told = "\n".join(texts.say_left(left))
        if left and not chosen:
            pushed = Pushed(reason="from_run", directive=told, is_dry_run=dry_run)
            return Answer(asdict(pushed), told, is_failure=True)
        author = re.sub("( <|$)", r" and a run\1", pages.author, count=1) if from_run else ""
        wanted = replace(wanted, slugs=chosen or slugs, author=author)
        pushed = pages.push(wanted, find_turns(asker.config, pages, asker.session))
        if pushed.commit:
            _forget_run(asker.config, pages, *(one.path for one in pushed.pages))
    text = "\n".join(filter(None, (*texts.say_pushed(pushed), told)))
    is_paused = pushed.reason in PUSHES_NOTHING or bool(left)
    pushed = replace(pushed, warnings=(*pushed.warnings, *filter(None, [told])))
    return Answer(asdict(pushed), text, is_failure=is_paused)


def _choose_drafts(
    config: Config, pages: Pages, wanted: PushRequest, *, is_from_run: bool
) -> tuple[tuple[str, ...], dict[str, bool]]:
    """Return the drafts to push, and a run's drafts that are not pushed, with whether they were
    edited since. The first is empty if no draft of a run is among them."""
    drafts = {pages.drafts.folder / path: path for path in pages.drafts.list_paths()}
    found = dict(RunDrafts(config.state_dir / "changes").find(drafts))
    states = compare_all(pages, [drafts[at] for at in found]) if found else []
    as_pushed = {one.draft.path for one in states if one.state == "unchanged"}
    of_runs = {drafts[at]: found[at] for at in found if drafts[at] not in as_pushed}
    there = [*drafts.values()]
    slugs, kind = wanted.slugs, wanted.type
    named = [path for slug in slugs for path in pages.find_drafts(slug, there)] if slugs else there
    named = [path for path in named if not kind or (slug_of(path) or [""])[0] == kind]
    if is_from_run:
        chosen = tuple(path for path in named if path in of_runs)
        if not chosen:
            raise UsageError("no chosen draft was written by a run", "Omit --from-run.")
        return chosen, {}
    slug = wanted.source_slug if wanted.distill_done else ""
    source = page_path("source", slug) if slug else ""
    left = {path: of_runs[path] for path in (*named, source) if path in of_runs}
    chosen = tuple(path for path in named if not {path, source} & left.keys())
    return chosen if left else (), left


def _forget_run(config: Config, pages: Pages, *paths: str) -> None:
    """Record that drafts of runs now belong to the user."""
    RunDrafts(config.state_dir / "changes").forget(pages.drafts.folder / path for path in paths)


def forget_page(
    asker: Asker,
    slug: Slug,
    *,
    kind: Namesake = "",
    erase: Annotated[bool, Arg("also erase it from the history")] = False,
    why: Annotated[str, Arg("reason, for the commit", "TEXT")] = "",
    force: Force = False,
) -> Answer:
    """Remove a page; its history stays."""
    with open_pages(asker.config) as pages:
        name = _name_page(slug, kind)
        gone = pages.forget(name, is_erased=erase, is_forced=force, why=why, agent=asker.agent)
        _forget_run(asker.config, pages, gone.path)
    return _answer(asdict(gone), texts.say_forgotten(gone))


def _name_page(slug: str, kind: AnyType) -> str:
    """Return a page's name: its slug, with its type if that is given."""
    if not slug.strip():
        raise UsageError("missing slug", f"Give one of: {command('pages list')}")
    return f"{kind}/{slug}" if kind and "/" not in slug else slug


def read_page(
    asker: Asker,
    slug: Slug,
    *,
    commit: Annotated[str, Arg("show the version at this commit", "SHA", ("--at",), "to")] = "",
    kind: Namesake = "",
) -> Answer:
    """Show a page: its draft, else the newest version."""
    with open_pages(asker.config) as pages:
        page = pages.read(_name_page(slug, kind), commit=commit)
    return Answer(asdict(page), texts.page_text(page))


def list_pages(asker: Asker, *, tag: Tag = "", kind: OfType = "") -> Answer:
    """List all pages, by type."""
    with open_pages(asker.config) as pages:
        rows = pages.list_pages(of_type=kind, tag=tag)
    data = {"pages": [asdict(one) for one in rows]}
    return _answer(data, texts.list_rows(rows), describe_empty("page"))


def show_status(asker: Asker) -> Answer:
    """Show the state of drafts, captured turns and the repository."""
    with open_pages(asker.config) as pages:
        found = pages.status()
    buffers = [one._asdict() for one in found.buffers]
    drafts = [
        {"path": path, "state": state, "problem": found.problems.get(path)}
        for path, state in found.drafts.items()
    ]
    data = {
        "is_ready": found.is_ready,
        "repository": str(found.repository),
        "head": found.head,
        "drafts": drafts,
        "pages": found.pages,
        "buffers": buffers,
    }
    return _answer(data, texts.say_status(found))


def compare_versions(
    asker: Asker,
    slug: Slug,
    *,
    start: Annotated[
        str, Arg("old version (default: the previous one)", "SHA", ("--from",), "from")
    ] = "",
    end: Annotated[str, Arg("new version (default: the newest)", "SHA", ("--to",), "to")] = "",
    local: Annotated[bool, Arg("compare the newest version with the draft")] = False,
    blame: Annotated[bool, Arg("show the author of each section")] = False,
    kind: Namesake = "",
) -> Answer:
    """Show what changed in a page, section by section."""
    with open_pages(asker.config) as pages:
        diff = pages.diff(
            _name_page(slug, kind), start=start, end=end, has_blame=blame, is_local=local
        )
        return Answer(diff_json(diff), diff_text(diff, now=pages.clock()).removesuffix("\n"))


def blame_page(asker: Asker, slug: Slug, *, kind: Namesake = "") -> Answer:
    """Show the author of each section of a page."""
    with open_pages(asker.config) as pages:
        blamed = pages.blame(_name_page(slug, kind))
        return _answer(diff_json(blamed), texts.list_blamed(blamed, pages.clock()))


def list_history(asker: Asker, slug: Slug, *, limit: Limit = 0, kind: Namesake = "") -> Answer:
    """List the commits of a page, newest first."""
    with open_pages(asker.config) as pages:
        commits = pages.history(_name_page(slug, kind), check_limit(limit) or HISTORY_MAX)
    data = {"slug": slug, "commits": [asdict(one) for one in commits]}
    return _answer(data, map(texts.describe_commit, commits), NO_COMMIT)


def list_evolution(
    asker: Asker,
    slug: Slug,
    *,
    limit: Annotated[int, Arg(f"up to N versions (default: {EVOLUTION_MAX})", "N")] = 0,
    kind: Namesake = "",
) -> Answer:
    """List the versions of a page, each with its changes."""
    with open_pages(asker.config) as pages:
        now = pages.clock()
        versions = pages.evolution(_name_page(slug, kind), check_limit(limit) or EVOLUTION_MAX)
    rows = [
        {
            "commit": asdict(one.commit),
            "reasoning_summary": one.reasoning_summary,
            "is_removal": one.is_removal,
            "diff": diff_json(one.diff),
        }
        for one in versions
    ]
    data = {"slug": slug, "versions": rows}
    return _answer(data, texts.list_versions(versions, now), NO_COMMIT)


def list_log(asker: Asker, *, limit: Limit = 0) -> Answer:
    """List the commits of all pages, newest first."""
    with open_pages(asker.config) as pages:
        entries = pages.log(check_limit(limit) or HISTORY_MAX)
    rows = [{**asdict(commit), "paths": list(paths)} for commit, paths in entries]
    return _answer({"commits": rows}, texts.list_log(entries), NO_PUSH)


def pull_pages(
    asker: Asker, remote: Annotated[str, Arg("name or URL (default: origin)", "REMOTE")] = ""
) -> Answer:
    """Pull pages from another repository; only fast-forwards."""
    with open_pages(asker.config) as pages:
        pulled = pages.pull(remote or "origin")
    return _answer(asdict(pulled), texts.say_pulled(pulled))


def show_path(asker: Asker) -> Answer:
    """Show the path of the repository, for git commands."""
    found = str(find_repository(asker.config))
    return Answer({"path": found}, found)


def export_pages(asker: Asker, folder: Annotated[str, Arg(metavar="DIR")]) -> Answer:
    """Write all pages into a new or empty folder."""
    to = Path.cwd() / Path(folder).expanduser()
    with open_pages(asker.config) as pages:
        paths = pages.export(to)
    return _answer({"folder": str(to), "paths": list(paths)}, texts.say_exported(paths))


def capture_turns(
    asker: Asker,
    what: Annotated[Literal["turn", "status", "template"], Arg("action", "WHAT")],
    *,
    session: Annotated[str, Arg("session (default: the newest)", "ID")] = "",
) -> Answer:
    """Store a turn (used by hooks), show stored turns, or the template."""
    config = asker.config
    if what == "turn":
        with translate_page_errors():
            data = sys.stdin.buffer.read(RECORD_BYTES_MAX + 1)
            return Answer({"kept": capture_turn(config, data)})
    with open_pages(config) as pages:
        if what == "template":
            template = pages.capture_template(find_turns(config, pages, session))
            return Answer({"template": template}, template.removesuffix("\n"))
        buffers, is_on = pages.buffers.status(), is_captured(config)
    rows = [one._asdict() for one in buffers]
    return _answer({"captures": is_on, "buffers": rows}, texts.say_captured(buffers, is_on=is_on))
