"""Removes a page: by a commit, so that its history stays, or out of the history as well."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memory.errors import BadInputError, StoreUnavailableError
from memory.gate import Gate
from memory.pages.answers import Forgotten
from memory.pages.erasing import read_marker, rewrite_without
from memory.pages.index_pages import make_index_pages
from memory.pages.reading import find_page
from memory.pages.slugs import slug_of
from memory.pages.writing import check_replaceable

if TYPE_CHECKING:
    from memory.pages.store import Pages

NOTES = (
    "copies of the repository that were pulled or pushed elsewhere still have it",
    "drafts in other folders of the project still have it, and so may buffers of sessions",
)


def forget_page(  # noqa: PLR0913 - what the surface decides
    pages: Pages,
    name: str,
    *,
    is_erased: bool = False,
    is_forced: bool = False,
    why: str = "",
    agent: str = "",
) -> Forgotten:
    """Remove a page and its draft.

    Raises:
        BadInputError: there is no such page, or its draft has edits that were never pushed.
    """
    pages.require_ready()
    path = find_page(pages, name)
    if is_erased:
        return _erase(pages, path, agent)
    if not is_forced:
        check_replaceable(pages, path)
    sha = ""
    with pages.repository.lock():
        head = pages.repository.head()
        entries = pages.repository.list_entries(head) if head else []
        if any(entry.path == path for entry in entries):
            fronts = pages.fronts.read_tree(entries)
            fronts.pop(path, None)
            named = slug_of(path) or ("", path)
            gate = Gate(pages.find_secrets)
            sha = pages.repository.commit(
                {path: None, **make_index_pages(fronts)},
                parent=head,
                author=gate.clean(pages.author),
                message=f"Forget {named[0]}/{named[1]}\n\n{gate.clean(why)}".strip(),
                trailers={"Agent": gate.clean(agent)},
            )
    return Forgotten(path, sha, pages.drafts.remove(path))


def finish_erasing(pages: Pages) -> None:
    """Finish an erasing that was killed. The repository is locked by the caller."""
    if path := read_marker(pages.repository):
        rewrite_without(pages.repository, path)
        pages.fronts.drop()


def _erase(pages: Pages, path: str, agent: str) -> Forgotten:
    named = slug_of(path) or ("", path)
    gate = Gate(pages.find_secrets)
    had_draft = pages.drafts.remove(path)
    pages.drafts.remove_leftovers()
    with pages.repository.lock():
        count = rewrite_without(pages.repository, path)
        pages.fronts.drop()
        head = pages.repository.head()
        fronts = pages.fronts.read_tree(pages.repository.list_entries(head)) if head else {}
        made = make_index_pages(fronts)
        sha = pages.repository.commit(
            made,
            parent=head,
            author=gate.clean(pages.author),
            message=f"Erase {named[0]}/{named[1]}",
            trailers={"Agent": gate.clean(agent)},
        )
    for made_path, text in made.items():
        with suppress(BadInputError, StoreUnavailableError):
            pages.drafts.write(made_path, text)
    return Forgotten(path, sha, had_draft, is_erased=True, commits=count, notes=NOTES)
