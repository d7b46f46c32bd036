"""Outcomes of the repositories that a run changed: taken, held for review, or left."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from executor.model import LeftOut
from executor.project.git import repository_export
from executor.project.git.history import Repositories, Repository
from executor.project.git.host import GitError, HostGit
from executor.project.git.repository_export import CarriedRepository, Reader, ScratchWriter
from executor.project.git.repository_import import REPLACE, STASH, Taking, check, find_moves
from executor.project.store.manifest import Change, ChangeSet
from executor.project.view.tree import Tree, state_of

_WORKTREE = r"(?:worktrees/[^/]+/)?"
# gitrepository-layout(5) and git's status: what exists while an operation is in progress.
_ONGOING = re.compile(
    rf"{_WORKTREE}(?:rebase-merge|rebase-apply|sequencer|MERGE_HEAD|CHERRY_PICK_HEAD|REVERT_HEAD"
    r"|BISECT_LOG|BISECT_START)(?=/|\Z)"
)
# Of these a run may delete, by ending an operation that the host had started:
_ENDED = re.compile(
    rf"{_WORKTREE}(?:rebase-merge|rebase-apply|sequencer|MERGE_[A-Z]+|BISECT_[A-Z_]+|AUTO_MERGE"
    r"|SQUASH_MSG|(?:CHERRY_PICK|REVERT|REBASE)_HEAD)(?=/|\Z)"
)
# Other files that git writes and nothing runs: transferred in another way, or made again.
_SILENT = re.compile(
    rf"(?:objects(?!/info/(?:http-)?alternates\Z)|refs|packed-refs|reftable|info/refs"
    rf"|gc\.[a-z]+|description"
    rf"|{_WORKTREE}(?:logs|index|sharedindex\.[0-9a-f]+|[A-Z_]*HEAD|[A-Z_]*MSG|MERGE_[A-Z]+"
    r"|BISECT_[A-Z_]*|AUTO_MERGE|EDIT_DESCRIPTION|rebase-merge|rebase-apply|sequencer"
    r"|addp-hunk-edit\.diff|[^/]+\.lock))(?=/|\Z)|(?:.*/)?[^/]+\.lock\Z",
    re.DOTALL,
)
LEADS_ON = "it points to a repository, whose programs would run"
TRAVELS = "only objects, refs and the index of a repository are committed"
NOTHING = "no changes to this repository are applied"


@dataclass(frozen=True, slots=True)
class RepositoryOutcome:
    """A decision on a repository."""

    repository: Repository
    taking: Taking | None = None
    left: LeftOut | None = None  # if set, the taking is held
    others: tuple[LeftOut, ...] = ()  # other changes that are not committed
    top: str = ""  # the folder of its files
    after: HostGit | None = None  # the host's with the run's objects
    # The commits that are then checked out, by the own folders of working trees.
    heads: Mapping[Path, str] = field(default_factory=dict)

    @property
    def is_prevented(self) -> bool:
        """True if its working tree's files are held, too."""
        return self.left is not None and self.left.kind == "repository"


@dataclass(slots=True)
class OutcomeJudge:
    """Decisions on repositories."""

    changes: ChangeSet
    repositories: Repositories
    project: Tree
    contents: Tree
    read: Reader  # runs git to read them

    def decide(self, repository: Repository) -> RepositoryOutcome:
        """Decide on a repository that the run changed, which is read in a sandbox."""
        if repository.existed and not repository.exists:
            return _left(repository, "only the user may delete a repository", "kept")
        if not repository.exists:
            return _left(repository, "a new repository is held for your review", "held")
        try:
            outcome = (
                self._decide(repository) if repository.existed else self._decide_new(repository)
            )
        except (GitError, OSError) as error:
            kind = "repository" if repository.existed else "refused"
            return _left(repository, f"{error}; {NOTHING}", kind)
        if ongoing := self._find_ongoing(repository):
            why = (
                f"the run left an operation in progress ({ongoing}); {NOTHING}: finish or abort it "
                "in the same run (for example git rebase --abort or git merge --abort). "
                "`context-mode changes apply ID` applies commits, index and files without it"
            )
            return _left(repository, why, "repository", outcome.taking)
        return outcome

    def _read(
        self, repository: Repository, kind: str, objects: Iterable[Path], tips: Iterable[str]
    ) -> CarriedRepository:
        writer = ScratchWriter(self.changes, self.repositories, self.project, self.contents)
        folder = self.read.place / str(repository.number) / "scratch"
        scratch = writer.write(repository, folder, kind, objects, tips)
        return repository_export.read_repository(repository.control, scratch, self.read)

    def _decide_new(self, repository: Repository) -> RepositoryOutcome:
        carried = self._read(repository, "", (), ())
        heads = dict.fromkeys(carried.trees, "")
        moves = {name: ("", new) for name, new in carried.refs.items()}
        taking = Taking(carried, carried.tips, moves, heads, bool(carried.stashes), True)
        return _left(repository, "a new repository is held for your review", "held", taking)

    def _decide(self, repository: Repository) -> RepositoryOutcome:
        host = HostGit(Path(self.changes.record.project, repository.control))
        now, head, (kind, objects) = host.list_refs(), host.head(), host.find_objects()
        checked_out = now.get(head, "" if head.startswith("refs/") else head)
        carried = self._read(repository, kind, objects, sorted({*now.values(), checked_out} - {""}))
        place = self.read.place / str(repository.number) / "objects"
        after, brought = check(carried, host, objects[0], place)
        touched: dict[str, tuple[str, str]] = {}
        conflicts = []
        # The storage of refs that have no file of their own.
        tables = ("packed-refs", *self._list_tables(repository))
        in_tables = any(self._is_changed(repository, name) for name in tables)
        are_moved_on = any(self._differs(repository, name) for name in tables)
        for name, move in find_moves(now, carried).items():
            if in_tables or self._is_changed(repository, name):
                touched[name] = move
                if are_moved_on or self._differs(repository, name):
                    conflicts.append(name)
        heads = {}
        for folder, (left, _) in carried.trees.items():
            prefix = f"{folder}/" if folder else ""
            if not self.repositories.was_there(f"{repository.prefix}{prefix}HEAD"):
                continue  # a working tree that the run made
            before = HostGit(host.folder / folder).head() if folder else head
            is_set = self._is_changed(repository, f"{prefix}index") or before != left
            if not is_set and before not in touched:
                continue
            heads[folder] = before
            conflicts += [
                name
                for name in (f"{prefix}HEAD", f"{prefix}index")
                if self._is_changed(repository, name) and self._differs(repository, name)
            ]
        taking = Taking(carried, brought, touched, heads, STASH in touched)
        top = self._find_top(repository, host)
        if conflicts:
            why = f"{conflicts[0]} was changed in the meantime; {NOTHING}"
            return replace(_left(repository, why, "repository", taking), top=top)
        heads_after = _list_heads(host, carried)
        others = tuple(_find_replaced(repository, now, carried))
        return RepositoryOutcome(repository, taking, None, others, top, after, heads_after)

    def _find_top(self, repository: Repository, host: HostGit) -> str:
        """Return the folder of a repository's files; for a submodule's, git is asked."""
        if "/modules/" not in repository.control:
            return repository.top
        said = host.ask("rev-parse", "--show-toplevel", also=(128,)).rstrip(b"\n")
        path = os.path.relpath(os.fsdecode(said), self.changes.record.project)
        return repository.top if not said or path.startswith("..") else path

    def decide_kept(self, repository: Repository, taking: Taking) -> RepositoryOutcome:
        """Decide on a held repository, given the host's present one."""
        host = HostGit(Path(self.changes.record.project, repository.control))
        if taking.is_new:
            if (host.folder / "HEAD").exists():
                return _left(repository, f"it now exists here; {NOTHING}", "repository", taking)
            return RepositoryOutcome(repository, taking)
        try:
            _, objects = host.find_objects()
            place = self.read.place / str(repository.number)
            after, _ = check(taking.carried, host, objects[0], place)
            now = host.list_refs()
            other = [name for name, ends in taking.refs.items() if now.get(name, "") not in ends]
            for folder, before in taking.heads.items():
                if HostGit(host.folder / folder).head_or_none() != before:
                    other.append(f"{folder}/HEAD".lstrip("/"))
        except (GitError, OSError) as error:
            return _left(repository, f"{error}; {NOTHING}", "repository", taking)
        if other:
            why = f"{other[0]} was changed in the meantime; {NOTHING}"
            return _left(repository, why, "repository", taking)
        heads = _list_heads(host, taking.carried)
        return RepositoryOutcome(repository, taking, None, (), repository.top, after, heads)

    def judge(self, repository: Repository, change: Change) -> LeftOut | None:
        """Return why a change in a repository's own folder is not committed; None if it is."""
        inside = change.path[len(repository.prefix) :] if change.path != repository.control else ""
        if not inside:
            is_other = change.kind != "folder" and change.change != "times"
            return LeftOut(change.path, LEADS_ON, "never") if is_other else None
        is_plain_folder = change.kind == "folder" and change.change != "modified"
        if is_plain_folder or change.change in ("times", "mode"):
            return None
        if not repository.existed or _SILENT.match(inside):
            return None
        if not repository.exists:  # reported as a whole
            return None
        shown = repository.prefix + _fold(inside)
        kind = "kept" if change.change == "deleted" else "never"
        return LeftOut(shown, TRAVELS, kind)

    def is_ended(self, repository: Repository, change: Change) -> bool:
        """Return whether a change deletes a file of the host's operation in progress."""
        inside = change.path[len(repository.prefix) :]
        return change.change == "deleted" and repository.exists and bool(_ENDED.match(inside))

    def _find_ongoing(self, repository: Repository) -> str:
        for change in self.repositories.changes_of(repository):
            if change.change == "times":
                continue
            found = _ONGOING.match(change.path[len(repository.prefix) :])
            if found and self.repositories.is_there(repository.prefix + found[0]):
                return found[0]
        return ""

    def _list_tables(self, repository: Repository) -> Iterator[str]:
        start = len(repository.prefix)
        names = (c.path[start:] for c in self.repositories.changes_of(repository))
        return (name for name in names if name.startswith("reftable/"))

    def _is_changed(self, repository: Repository, name: str) -> bool:
        return self.repositories.is_changed(repository.prefix + name)

    def _differs(self, repository: Repository, name: str) -> bool:
        """Return whether an entry of the host has changed since the view began."""
        path = repository.prefix + name
        was, now = self.changes.record.states.get(path), self.project.info(path)
        return was != (None if now is None else state_of(now))


def _list_heads(host: HostGit, carried: CarriedRepository) -> dict[Path, str]:
    """Return the commits that a run left checked out, by the own folders of working trees."""
    return {
        host.folder / folder: carried.refs.get(head, head)
        for folder, (head, _) in carried.trees.items()
    }


def _find_replaced(
    repository: Repository, now: Mapping[str, str], carried: CarriedRepository
) -> Iterator[LeftOut]:
    """Yield the refs by which a run replaces known objects, if it changed any."""
    if any(name.startswith(REPLACE) and now.get(name) != new for name, new in carried.refs.items()):
        yield LeftOut(f"{repository.prefix}{REPLACE[:-1]}", TRAVELS, "never")


def _left(
    repository: Repository, why: str, kind: str, taking: Taking | None = None
) -> RepositoryOutcome:
    left = LeftOut(repository.shown, why, kind)
    return RepositoryOutcome(repository, taking, left, (), repository.top)


def _fold(inside: str) -> str:
    """Return the reported part of a path: `hooks` for all hooks, a working tree by its name."""
    parts = inside.split("/")
    return "/".join(parts[: 2 if parts[0] in ("worktrees", "modules", "info") else 1])
