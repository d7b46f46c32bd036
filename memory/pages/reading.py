"""Reading of pages: finding by name, showing, listing, states of drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.errors import BadInputError
from memory.pages.cleaning import redact, sanitize
from memory.pages.directives import drift_notice
from memory.pages.drafts import Draft, read_drafts, with_fields
from memory.pages.frontmatter import render_page, try_parse
from memory.pages.history import follow_rewritten, read_rewritten
from memory.pages.model import (
    FOLDERS,
    PAGE_TYPES,
    DraftState,
    PageRow,
    PagesStatus,
    ReadPage,
    check_slug,
    page_path,
    slug_of,
)
from memory.pages.page_index import INDEX, TAGS, Front, Fronts, are_same, describe_text
from memory.pages.repository import Repository

if TYPE_CHECKING:
    from memory.pages.store import Pages

TO_PUSH: tuple[DraftState, ...] = ("new", "edited")
_MADE = {"index": INDEX, "tags": TAGS, INDEX: INDEX, TAGS: TAGS}


def name_paths(name: str) -> list[str]:
    """Return the paths that a name may mean: a slug, `concept/SLUG` or a path.

    Raises:
        BadInputError: it is not a valid page name.
    """
    for path in (name, f"{name}.md"):
        if slug_of(path):
            return [path]
    begin, slash, slug = name.partition("/")
    if slash and begin in PAGE_TYPES:
        return [page_path(begin, slug)]
    check_slug(name)
    return [page_path(one, name) for one in FOLDERS]


def find_page(pages: Pages, name: str) -> str:
    """Return the path of the page that a name means: a draft, a page, or a removed page.

    Raises:
        BadInputError: there is no page of this name, or several have it.
    """
    candidates = name_paths(name)
    there = {*pages.drafts.list_paths(), *pages.repository.list_paths()}
    found = [path for path in candidates if path in there]
    found = found or [path for path in candidates if pages.repository.last_commit(path)]
    if not found:
        message = f"no page {name[:80]!r}"
        raise BadInputError(message, "List them: context-mode pages list")
    if len(found) > 1:
        named = [one for path in found if (one := slug_of(path))]
        names = ", ".join(f"{one[0]}/{one[1]}" for one in named)
        raise BadInputError(f"several pages are named {name[:80]!r}", f"Choose from: {names}.")
    return found[0]


def read_page(pages: Pages, name: str, commit: str = "") -> ReadPage:
    """Return a page for showing: its draft, else the newest version, or that of a commit. `index`
    and `tags` are the generated pages.

    Raises:
        BadInputError: the page or the commit does not exist.
    """
    if name in _MADE:
        sha = pages.repository.resolve(commit)
        text = pages.repository.read(_MADE[name], sha) or ""
        return ReadPage(_MADE[name], name.removesuffix(".md"), "", _show(pages, text), "repository")
    path = find_page(pages, name)
    page_type, slug = slug_of(path) or ("", "")
    draft = None if commit else pages.drafts.read(path)
    if draft is not None:
        notice = "" if pages.is_drift_disabled else _tell_drift(pages, path, slug)
        return ReadPage(path, slug, page_type, _show(pages, draft), "draft", None, notice)
    sha = pages.repository.resolve(commit)
    version = pages.repository.read(path, sha)
    if version is None:
        remedy = f"List its versions: context-mode pages history {slug}"
        raise BadInputError(f"{name[:80]!r} is not in that version", remedy)
    last = next(iter(pages.repository.history(path, 1, at=sha)), None)
    page, text = None if commit else try_parse(version), version
    if page is not None and last is not None:
        # Edits of the shown text are based on this commit.
        text = render_page(with_fields(page, parent_sha=last.sha))
    return ReadPage(path, slug, page_type, _show(pages, text), "repository", last)


def list_pages(pages: Pages, of_type: str = "", tag: str = "") -> tuple[PageRow, ...]:
    """List the pages of the repository and the drafts, by type and slug."""
    if of_type and of_type not in PAGE_TYPES:
        raise BadInputError(
            f"unknown page type {of_type[:80]!r}", f"Choose from: {', '.join(PAGE_TYPES)}."
        )
    head = pages.repository.head()
    fronts = pages.fronts.read_tree(pages.fronts.list_entries(head))
    states, _ = _status(pages)
    for path in states.keys() - fronts.keys():
        text = None if states[path] == "broken" else pages.drafts.read(path)
        fronts[path] = describe_text(text or "")
    rows = []
    for path, front in fronts.items():
        named = slug_of(path)
        if named and (not of_type or named[0] == of_type) and (not tag or tag in front.tags):
            title = _show(pages, front.title) or named[1]
            summary = _show(pages, front.summary)
            tags = tuple(_show(pages, one) for one in front.tags)
            rows.append(
                PageRow(path, named[1], named[0], title, summary, tags, states.get(path, ""))
            )
    return tuple(sorted(rows, key=lambda one: (PAGE_TYPES.index(one.type), one.slug)))


def tell_status(pages: Pages) -> PagesStatus:
    """Return the states of drafts, buffers and the repository."""
    head = pages.repository.head()
    count = sum(1 for path in pages.repository.list_paths(head) if slug_of(path)) if head else 0
    states, problems = _status(pages)
    return PagesStatus(
        pages.is_ready,
        pages.repository.folder,
        head,
        states,
        problems,
        count,
        tuple(pages.buffers.status()),
    )


def compare_all(pages: Pages, paths: list[str]) -> list[Standing]:
    """Return the states of the drafts at paths; unreadable ones are skipped."""
    drafts, _ = read_drafts(pages.drafts, paths, pages.find_secrets)
    head = pages.repository.head()
    tree = pages.fronts.list_entries(head)
    return compare_drafts(pages.repository, pages.fronts, head, tree, drafts)


def _status(pages: Pages) -> tuple[dict[str, DraftState], dict[str, dict[str, str]]]:
    """Return by path the state of each draft, and why one is broken."""
    paths = pages.drafts.list_paths()
    _, problems = read_drafts(pages.drafts, paths, pages.find_secrets)
    broken = {
        path: {"path": path, "message": error.message, "remedy": error.remedy}
        for path, error in problems
    }
    states = {one.draft.path: one.state for one in compare_all(pages, paths)}
    known = (path for path in paths if path in states or path in broken)
    return {path: states.get(path, "broken") for path in known}, broken


def _tell_drift(pages: Pages, path: str, slug: str) -> str:
    for one in compare_all(pages, [path]):
        if one.state in ("behind", "diverged", "removed"):
            return drift_notice(
                slug=slug,
                parent=one.parent,
                theirs=pages.repository.last_commit(path),
                is_edited=one.state == "diverged",
                find_secrets=pages.find_secrets,
            )
    return ""


def _show(pages: Pages, text: str) -> str:
    return redact(sanitize(text), pages.find_secrets)[0]


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a draft. `head` and `base` are names of the page's contents, empty if there are
    none.

    Attributes:
        is_stale: whether `parent` is not the newest version's, though the draft has the same
            content.
    """

    draft: Draft
    state: DraftState
    head: str = ""  # of the newest version
    base: str = ""  # of the version that the draft is based on
    parent: str = ""  # the commit that the draft names, by its present name
    is_stale: bool = False


def compare_drafts(
    repository: Repository,
    fronts: Fronts,
    head: str,
    tree: Mapping[str, str],
    drafts: Sequence[Draft],
) -> list[Standing]:
    """Return the states of drafts against a commit, whose paths and contents are given."""
    rewritten = read_rewritten(repository)
    parents = [follow_rewritten(one.page.front.parent_sha, rewritten) for one in drafts]
    heads = [tree.get(one.path, "") for one in drafts]
    bases = [
        newest if parent == head else "" for parent, newest in zip(parents, heads, strict=True)
    ]
    named = [number for number, parent in enumerate(parents) if parent and parent != head]
    asked = [(drafts[number].path, parents[number]) for number in named]
    for number, blob in zip(named, repository.blobs(asked), strict=True):
        bases[number] = blob
    drifted = [base for base, newest in zip(bases, heads, strict=True) if base != newest]
    known = fronts.read([*heads, *drifted])
    standings = []
    for draft, parent, base, newest in zip(drafts, parents, bases, heads, strict=True):
        is_drifted = base != newest
        state = _judge(draft.front, known.get(base), known.get(newest), is_drifted=is_drifted)
        if state == "new" and draft.page.front.parent_sha:
            is_erased = draft.page.front.parent_sha in rewritten
            state = _judge_lost(repository, draft.path, parent, is_erased=is_erased)
        is_stale = state == "unchanged" and is_drifted
        standings.append(Standing(draft, state, newest, base, parent, is_stale))
    return standings


def _judge(draft: Front, base: Front | None, head: Front | None, *, is_drifted: bool) -> DraftState:
    if head is not None and are_same(draft, head):
        return "unchanged"
    if not is_drifted:
        return "edited" if head is not None else "new"
    if base is not None and are_same(draft, base):
        return "behind" if head is not None else "removed"
    return "diverged"


def _judge_lost(repository: Repository, path: str, parent: str, *, is_erased: bool) -> DraftState:
    """Return the state of a draft that names a commit, if its page is missing there and in the
    newest. Naming the commit that removed the page shows that its removal is known. A page of
    another repository is new here. A page removed or erased since then must not return by
    itself."""
    last = repository.last_commit(path)
    if last is None:
        return "diverged" if is_erased else "new"
    return "new" if last.sha == parent else "diverged"
