"""How drafts stand to the repository: which were changed, and which are upon an older version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.pages.answers import DraftState
from memory.pages.checking import Draft
from memory.pages.fronts import Front, Fronts, are_same
from memory.pages.repository import Repository
from memory.pages.rewritten import follow_rewritten, read_rewritten

TO_PUSH: tuple[DraftState, ...] = ("new", "edited")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a draft stands. `head` and `base` are the names of the page's contents: of the newest
    version, and of the one that the draft was written upon; empty where there is none. `parent` is
    the commit that the draft names, as it is named now. `is_stale`: that is not the newest
    version's, though the draft says the same."""

    draft: Draft
    state: DraftState
    head: str = ""
    base: str = ""
    parent: str = ""
    is_stale: bool = False


def compare_drafts(
    repository: Repository,
    fronts: Fronts,
    head: str,
    tree: Mapping[str, str],
    drafts: Sequence[Draft],
) -> list[Standing]:
    """Tell how drafts stand to a commit, whose paths and contents are given."""
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
    """Judge a draft that names a commit, though its page is neither there nor in the newest.

    Whoever names the commit that removed the page knows of it. A page of another repository is
    new here. One that was removed or erased meanwhile must not come back by itself.
    """
    last = repository.last_commit(path)
    if last is None:
        return "diverged" if is_erased else "new"
    return "new" if last.sha == parent else "diverged"
