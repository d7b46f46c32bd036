"""What the search has of pages: the versions of each since it was last not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.pages.model import Commit
from memory.pages.repository import Repository
from memory.pages.slugs import slug_of

VERSIONS_MAX = 20
"""So many of the newest versions of a page are found."""


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of a page, and the commit that it is of."""

    commit: Commit
    text: str


def name_page(path: str) -> str:
    """Return how a page is called: its type and slug; empty where no page lies."""
    named = slug_of(path)
    return f"{named[0]}/{named[1]}" if named else ""


def list_changed(repository: Repository, since: str, head: str) -> list[str] | None:
    """List the paths that changed between two commits. None where the history was written anew:
    then everything is to be compared."""
    if not since:
        return None
    code, _, _ = repository.git.try_run("merge-base", "--is-ancestor", since, head)
    if code:
        return None
    said = repository.git.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", since, head, "--"
    )
    return [path for path in said.decode("utf-8", "replace").split("\0") if name_page(path)]


def read_newest(repository: Repository, head: str) -> Mapping[str, str]:
    """Read the newest version of all pages, by path."""
    if not head:
        return {}
    entries = [one for one in repository.list_entries(head) if name_page(one.path)]
    texts = repository.read_objects([one.blob for one in entries])
    pairs = zip(entries, texts, strict=True)
    return {entry.path: text for entry, text in pairs if text is not None}


def read_versions(
    repository: Repository, paths: Sequence[str], head: str
) -> Mapping[str, list[PageVersion]]:
    """Read the versions of pages up to a commit, the oldest first: those since each was last not
    there. One that is not there now has none."""
    histories = {path: repository.history(path, VERSIONS_MAX, at=head) for path in paths}
    wanted = [(path, one.sha) for path, commits in histories.items() for one in commits]
    texts = dict(zip(wanted, repository.read_each(wanted), strict=True))
    found: dict[str, list[PageVersion]] = {}
    for path, commits in histories.items():
        versions: list[PageVersion] = []
        for commit in commits:  # the newest first
            text = texts[path, commit.sha]
            if text is None:
                break
            versions.append(PageVersion(commit, text))
        found[path] = versions[::-1]
    return found
