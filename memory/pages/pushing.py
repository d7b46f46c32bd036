"""Push of pages: all changed drafts become one commit, or nothing is committed.

Order: all drafts are checked, and secrets removed; drafts based on an older version stop the push;
a session that is not distilled may pause it; then one commit is made. After a crash, the next push
does what follows a commit: it updates the drafts' parents and archives the buffer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.errors import BadInputError, StoreUnavailableError
from memory.gate import Gate
from memory.pages.buffers import FRESH_S
from memory.pages.directives import (
    distill_directive,
    merge_directive,
    next_push,
    suggest_slug,
)
from memory.pages.drafts import Draft, bad_pages, prepare_draft, read_drafts, with_fields
from memory.pages.frontmatter import render_page, set_parent, try_parse
from memory.pages.model import (
    KNOWLEDGE,
    PAGE_TYPES,
    GitError,
    MovedError,
    Page,
    Pushed,
    PushReason,
    PushRequest,
    Written,
    check_slug,
    page_path,
    slug_of,
)
from memory.pages.page_index import INDEX, TAGS, make_index_pages
from memory.pages.reading import TO_PUSH, Standing, compare_drafts
from memory.pages.repository import name_content
from memory.texts import write_time

if TYPE_CHECKING:
    from memory.pages.buffer_files import Buffer
    from memory.pages.model import PageType
    from memory.pages.store import Pages

__all__ = ["PushRequest", "Pushed", "push"]

ATTEMPTS = 5
_TRAILERS_READ = 50
_SUBJECT_SLUGS = 5


def push(pages: Pages, asked: PushRequest, buffer: Buffer | None = None) -> Pushed:
    """Commit changed drafts. Without a buffer, that of the session's folder is used.

    Raises:
        BadPagesError: drafts cannot be committed; all their problems are reported.
        BadInputError: the request is invalid.
        MovedError: others pushed again and again during the call.
        MemoryRoomError: git, the drafts or the repository cannot be used.
    """
    pages.require_ready()
    paths = _select(pages, asked)
    drafts, problems = read_drafts(pages.drafts, paths, pages.find_secrets)
    if problems:
        raise bad_pages(problems)
    if not asked.is_dry_run:
        drafts = [_store_redacted(pages, one) for one in drafts]
    for attempt in range(ATTEMPTS):
        try:
            with pages.repository.lock():
                return _push_locked(pages, asked, drafts, buffer)
        except MovedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError


def _push_locked(
    pages: Pages, asked: PushRequest, drafts: Sequence[Draft], buffer: Buffer | None
) -> Pushed:
    pages.finish_erasing()
    head = pages.repository.head()
    tree = pages.fronts.list_entries(head)
    standings = compare_drafts(pages.repository, pages.fronts, head, tree, drafts)
    diverged = [one for one in standings if one.state == "diverged"]
    if not asked.is_dry_run:
        _repair_drafts(pages, standings)
        _archive_distilled(pages)
    if diverged:
        directive = merge_directive(pages.repository, diverged, find_secrets=pages.find_secrets)
        return _answer(asked, diverged, "merge_required", directive)
    changed = [one for one in standings if one.state in TO_PUSH]
    now = pages.clock()
    if buffer is None:
        buffer = pages.buffers.find(asked.session, now)
    is_paused = needs_distilling(
        [one.draft.type for one in changed],
        buffer,
        distill_done=asked.distill_done,
        no_distill=asked.no_distill,
        is_disabled=pages.is_distill_disabled,
        now=now,
    )
    if is_paused and buffer is not None:
        directive = _pause(pages, asked, changed, tree, buffer)
        return _answer(asked, changed, "distill_required", directive)
    if asked.distill_done:
        _check_source(asked, {*tree, *(one.draft.path for one in changed)})
    done = buffer if asked.distill_done else None
    if not changed:
        if done is not None and not asked.is_dry_run:
            return _with_archived(pages, _answer(asked, changed, "nothing"), done)
        return _answer(asked, changed, "nothing")
    if asked.is_dry_run:
        return _answer(asked, changed)
    return _commit(pages, asked, changed, head, tree, done)


def _commit(  # noqa: PLR0913, PLR0917 - what a push stands upon
    pages: Pages,
    asked: PushRequest,
    changed: Sequence[Standing],
    head: str,
    tree: Mapping[str, str],
    buffer: Buffer | None,
) -> Pushed:
    """Make the commit and its follow-up. `head` is the newest commit before, `tree` has its
    files."""
    source = asked.source_slug if asked.distill_done else ""
    written = [_finish_page(pages, one, source, asked.author) for one in changed]
    files = {one.path: render_page(one.committed) for one in written}
    fronts = pages.fronts.read_tree(tree)
    fronts.update({one.path: one.front for one in written})
    files.update(make_index_pages(fronts))
    gate = Gate(pages.find_secrets)
    sha = pages.repository.commit(
        files,
        parent=head,
        author=gate.clean(asked.author or pages.author),
        message=gate.clean(asked.message).strip() or _subject(written),
        trailers={
            "Agent": gate.clean(asked.agent),
            "Session": gate.clean(asked.session),
            "Buffer": buffer.upto if buffer else "",
        },
    )
    warnings = _follow(pages, sha, written, files)
    answer = _answer(asked, changed, commit=sha, warnings=warnings)
    with suppress(GitError, OSError):
        made = {path: name_content(text, sha) for path, text in files.items()}
        pages.fronts.save(sha, {**tree, **made}, fronts)
        pages.repository.tidy()
    return answer if buffer is None else _with_archived(pages, answer, buffer)


def _finish_page(pages: Pages, standing: Standing, source: str, author: str) -> Draft:
    """Return a draft with the fields that a push writes: its sources, and when it was changed; also
    its author, if the push names one."""
    draft = standing.draft
    changes: dict[str, object] = {"parent_sha": standing.parent}
    front = draft.page.front
    if author:
        changes["author"] = author
    if source and front.type in KNOWLEDGE and source not in front.sources:
        changes["sources"] = (*front.sources, source)
    before = pages.fronts.read([standing.head]).get(standing.head)
    if not front.updated or (before is not None and before.updated == front.updated):
        changes["updated"] = write_time(pages.clock())
    page = with_fields(draft.page, **changes)
    if author or "sources" in changes:
        return prepare_draft(draft.path, draft.text, page, pages.find_secrets)
    # A commit and a time contain no secrets: the draft is as clean as before.
    is_public = draft.committed is draft.page
    committed = page if is_public else with_fields(draft.committed, **changes)
    described = replace(draft.front, parent_sha=standing.parent, updated=page.front.updated)
    return replace(draft, page=page, committed=committed, front=described)


def _follow(
    pages: Pages, sha: str, written: Sequence[Draft], files: Mapping[str, str]
) -> tuple[str, ...]:
    """Update the drafts after a commit; report failures, which the next push repeats."""
    warnings = []
    for one in written:
        try:
            _set_parent(pages, one, files[one.path], sha)
        except (BadInputError, StoreUnavailableError) as error:
            warnings.append(error.message)
    for path in (INDEX, TAGS):
        try:
            if pages.drafts.read(path) != files[path]:
                pages.drafts.write(path, files[path])
        except (BadInputError, StoreUnavailableError) as error:
            warnings.append(error.message)
    return tuple(warnings)


def _set_parent(pages: Pages, pushed: Draft, committed: str, sha: str) -> None:
    """Set the parent of a draft to its new commit, also if it was edited during the push."""
    text = pages.drafts.read(pushed.path)
    if text == pushed.text and pushed.committed is pushed.page:
        written = set_parent(committed, sha)
        if written is not None:
            pages.drafts.write(pushed.path, written)
            return
    page = None if text is None else try_parse(text)
    if page is None:
        return
    page = pushed.page if text == pushed.text else page
    missing = [one for one in pushed.page.front.sources if one not in page.front.sources]
    changed = with_fields(page, parent_sha=sha, sources=(*page.front.sources, *missing))
    pages.drafts.write(pushed.path, render_page(changed))


def _repair_drafts(pages: Pages, standings: Sequence[Standing]) -> None:
    """Set the parents of drafts that a push committed before it was killed."""
    for one in standings:
        if one.is_stale:
            last = pages.repository.last_commit(one.draft.path)
            text = pages.repository.read(one.draft.path)
            page = None if text is None else try_parse(text)
            if last is not None and page is not None:
                sources = (*one.draft.page.front.sources, *page.front.sources)
                mended = with_fields(
                    one.draft.page, parent_sha=last.sha, sources=tuple(dict.fromkeys(sources))
                )
                with suppress(BadInputError, StoreUnavailableError):
                    pages.drafts.write(one.draft.path, render_page(mended))


def _archive_distilled(pages: Pages) -> None:
    """Archive buffers that a commit names as distilled: a push may have died after it."""
    if not pages.buffers.status():
        return
    for commit in pages.repository.history("", _TRAILERS_READ):
        if commit.buffer:
            with suppress(OSError):
                pages.buffers.archive_upto(commit.buffer)


def _with_archived(pages: Pages, answer: Pushed, buffer: Buffer) -> Pushed:
    try:
        pages.buffers.archive(buffer)
    except OSError as error:
        told = f"cannot archive the session's buffer: {error.strerror or error}"
        return replace(answer, warnings=(*answer.warnings, told))
    return replace(answer, archived=buffer.upto)


def _select(pages: Pages, asked: PushRequest) -> list[str]:
    """Return the paths of the requested drafts."""
    if asked.type and asked.type not in PAGE_TYPES:
        message = f"unknown page type {asked.type[:80]!r}"
        raise BadInputError(message, f"Choose from: {', '.join(PAGE_TYPES)}.")
    there = pages.drafts.list_paths()
    if asked.slugs:
        chosen = [path for slug in asked.slugs for path in pages.find_drafts(slug, there)]
    else:
        chosen = there
    if asked.type:
        chosen = [one for one in chosen if (slug_of(one) or ("",))[0] == asked.type]
    if asked.distill_done:
        if not asked.source_slug:
            flags = ("distill_done", "source_slug")
            needs, needed = flags if asked.agent else map(_to_flag, flags)
            raise BadInputError(f"{needs} needs {needed}", _next_call(asked, "SLUG"))
        source = page_path("source", check_slug(asked.source_slug))
        chosen += [source] if source in there else []
    return list(dict.fromkeys(chosen))


def _check_source(asked: PushRequest, paths: Collection[str]) -> None:
    """Check that the source page exists or is part of this push."""
    if page_path("source", asked.source_slug) in paths:
        return
    slug = asked.source_slug
    call = f'ctx_pages {{"action": "write", "type": "source", "slug": "{slug}", "text": "…"}}'
    if not asked.agent:
        call = f"context-mode pages write {slug} FILE --type source"
    raise BadInputError(
        f"no source page {slug!r}", f"Write it: {call}. Then: {_next_call(asked, slug)}"
    )


def _to_flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _next_call(asked: PushRequest, source_slug: str) -> str:
    """Write the push that follows, as the caller types it: a user at a terminal has no name."""
    if not asked.agent:
        words = ["context-mode pages push", *asked.slugs, "--distill-done --source-slug"]
        return f"{' '.join(words)} {source_slug}"
    return f"ctx_pages {json.dumps(next_push(asked.slugs, asked.message, source_slug))}"


def _pause(
    pages: Pages,
    asked: PushRequest,
    changed: Sequence[Standing],
    tree: Iterable[str],
    buffer: Buffer,
) -> str:
    waiting = [one.draft.committed for one in changed]
    sources = [one for one in pages.drafts.list_paths() if one.startswith("raw/")]
    paths = [*sources, *tree]
    taken = [named[1] for path in paths if (named := slug_of(path)) and named[0] == "source"]
    slug = suggest_slug(waiting, pages.clock(), taken)
    return distill_directive(
        waiting,
        buffer,
        find_secrets=pages.find_secrets,
        slug=slug,
        call=next_push(asked.slugs, asked.message, slug),
    )


def _store_redacted(pages: Pages, draft: Draft) -> Draft:
    """Remove secrets from a draft's file, too."""
    if draft.redactions:
        text = render_page(draft.page)
        pages.drafts.write(draft.path, text)
        page: Page = draft.page
        again = prepare_draft(draft.path, text, page, pages.find_secrets)
        return replace(again, redactions=draft.redactions)
    return draft


def _answer(  # noqa: PLR0913 - what is told of a push
    asked: PushRequest,
    standings: Sequence[Standing],
    reason: PushReason = "",
    directive: str = "",
    *,
    commit: str = "",
    warnings: tuple[str, ...] = (),
) -> Pushed:
    told = tuple(
        Written(one.draft.path, one.draft.slug, one.draft.type, not one.head, one.draft.redactions)
        for one in standings
    )
    return Pushed(
        commit=commit,
        pages=told,
        redactions=sum(one.redactions for one in told),
        reason=reason,
        directive=directive,
        is_dry_run=asked.is_dry_run,
        warnings=warnings,
    )


def _subject(written: Sequence[Draft]) -> str:
    slugs = [one.slug[:60] for one in written[:_SUBJECT_SLUGS]]
    more = f" and {len(written) - len(slugs)} more" if len(written) > len(slugs) else ""
    return f"Push {', '.join(slugs)}{more}"


def needs_distilling(  # noqa: PLR0913 - a truth table of its conditions
    types: Iterable[PageType],
    buffer: Buffer | None,
    *,
    distill_done: bool,
    no_distill: bool,
    is_disabled: bool,
    now: float,
) -> bool:
    """Return whether pages must wait for distilling. They must if one is a concept or an analysis,
    the session's buffer has turns of the last six hours, and the request does not say that it is
    distilled or need not be."""
    if distill_done or no_distill or is_disabled:
        return False
    has_knowledge = any(one in KNOWLEDGE for one in types)
    has_turns = buffer is not None and bool(buffer.turns) and now - buffer.at < FRESH_S
    return has_knowledge and has_turns
