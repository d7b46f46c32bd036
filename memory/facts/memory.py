"""Facts of a project and its user, for the command line, tools and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from memory.errors import BadInputError, StoreUnavailableError
from memory.facts.erasing import Erased, erase
from memory.facts.model import (
    MAIN,
    SCOPES,
    Author,
    Change,
    Draft,
    Fact,
    Imported,
    Scope,
    UnknownFactError,
    Written,
    name_fact,
)
from memory.facts.priming import prime
from memory.facts.ranking import Match
from memory.facts.reading import (
    find_newest,
    read_changes,
    read_facts,
    read_history,
    require_branch,
    unknown_branch,
)
from memory.facts.recalling import Recall, RecallRequest, recall, search
from memory.facts.restoring import check_store, repair_store
from memory.facts.store import FactStore
from memory.facts.writing import find_wanted, forget, pin, purge_expired, remember, unpin

Answer = TypeVar("Answer")
# The class has a method named `list`.
Facts: TypeAlias = list[Fact]
Changes: TypeAlias = list[Change]
Found: TypeAlias = list[tuple[Fact, Match]]


class Memory:
    """The facts of a project and of its user; either file may be missing. The author writes."""

    def __init__(
        self,
        project: FactStore | None,
        user: FactStore | None = None,
        author: Author | None = None,
    ) -> None:
        self.project = project
        self.user = user
        self.author = author or Author()

    @property
    def stores(self) -> tuple[FactStore, ...]:
        """List the open files, the project's first."""
        return tuple(one for one in (self.project, self.user) if one is not None)

    @property
    def notices(self) -> tuple[str, ...]:
        """List the notices for the user about the files."""
        return tuple(notice for store in self.stores for notice in store.notices)

    def remember(self, draft: Draft, *, branch: str = MAIN) -> Written:
        """Write a fact into the file of its scope.

        Raises:
            BadInputError: the draft is invalid.
        """
        store = self._store_of(draft.scope)
        if store is self.user:
            branch = MAIN
        try:
            return remember(store, draft, self.author, branch)
        except UnknownFactError as error:
            self._check_other_file(store, draft.supersedes, branch, error)
            raise

    def find(self, wanted: str, *, branch: str = MAIN) -> Fact:
        """Return the fact with an id, a path or a key; the project's before the user's.

        Raises:
            UnknownFactError: no fact has it.
        """
        return self._find(wanted, branch)[1]

    def list(
        self,
        *,
        branch: str = MAIN,
        prefix: str = "",
        is_expired: bool = False,
        scopes: Sequence[Scope] = SCOPES,
    ) -> Facts:
        """List the facts, the nearest scope first, then by path."""

        self._require_branch(branch)

        def read(store: FactStore) -> Facts:
            own = self._branch_of(store, branch)
            with store.database.reading() as db:
                require_branch(db, own)
                now = store.clock()
                return [*read_facts(db, own, now=now, prefix=prefix, expired=is_expired)]

        facts = [fact for store in self.stores for fact in self._read(store, read)]
        of_scopes = [fact for fact in facts if fact.scope in scopes]
        return sorted(of_scopes, key=lambda fact: (SCOPES.index(fact.scope), fact.path))

    def blame(self, wanted: str, *, branch: str = MAIN) -> Changes:
        """List all changes at a path, the newest first; by an id also those of a retracted fact.

        Raises:
            UnknownFactError: no fact was ever there.
        """

        name_fact(wanted)
        self._require_branch(branch)

        def read(store: FactStore) -> Changes:
            with store.database.reading() as db:
                return read_history(db, wanted, self._branch_of(store, branch))

        for store in self.stores:
            if found := self._read(store, read):
                return found
        raise _unknown(wanted)

    def log(self, *, branch: str = "", prefix: str = "", limit: int = 20) -> Changes:
        """List the newest changes, the newest first: of a branch of the project, or of both
        files."""

        self._require_branch(branch or MAIN)

        def read(store: FactStore) -> Changes:
            with store.database.reading() as db:
                if branch:
                    require_branch(db, branch)
                return read_changes(db, branch, prefix=prefix, limit=limit)

        stores = [one for one in self.stores if not branch or one is self.project]
        changes = [change for store in stores for change in self._read(store, read)]
        return sorted(changes, key=lambda change: -change.at)[: limit if limit >= 0 else None]

    def log_after(
        self, marks: Mapping[str, int], *, branch: str = ""
    ) -> tuple[Changes, Mapping[str, int]]:
        """List the changes after the marks, the oldest first, with new marks: the number of the
        newest change of each file. A file without a mark is listed from its beginning."""
        found: list[Change] = []
        new = dict(marks)
        for store in self.stores:
            path = str(store.path)

            def read(store: FactStore, after: int = marks.get(path, 0)) -> tuple[Changes, int]:
                with store.database.reading() as db:
                    return read_changes(db, branch, after=after), find_newest(db)

            if store is self.project or not branch:
                changes, new[path] = self._read(store, read)
                found += reversed(changes)
        return sorted(found, key=lambda change: change.at), new

    def forget(self, wanted: str, *, branch: str = MAIN, why: str = "") -> Fact:
        """Retract a fact; its history stays.

        Raises:
            UnknownFactError: no current fact has this name.
        """
        return self._change(forget, wanted, branch, why)

    def erase(self, wanted: str, *, why: str = "") -> Erased:
        """Erase a fact from its file.

        Raises:
            UnknownFactError: no fact ever had this name.
        """
        name_fact(wanted)
        for store in self.stores:
            with suppress(UnknownFactError):
                return erase(store, wanted, self.author, why=why)
        raise _unknown(wanted)

    def pin(self, wanted: str, *, branch: str = MAIN, why: str = "") -> Fact:
        """Pin a fact, so that each recall begins with it.

        Raises:
            UnknownFactError: no current fact has this name.
        """
        return self._change(pin, wanted, branch, why)

    def unpin(self, wanted: str, *, branch: str = MAIN, why: str = "") -> Fact:
        """Undo `pin`.

        Raises:
            UnknownFactError: no current fact has this name.
        """
        return self._change(unpin, wanted, branch, why)

    def prime(
        self, text: str, *, source: str, title: str, is_pinned: bool = False, branch: str = MAIN
    ) -> Imported:
        """Store the sections of a Markdown text as the facts of a source of the project."""
        return prime(
            self._store_of("project"),
            text,
            source=source,
            title=title,
            author=self.author,
            is_pinned=is_pinned,
            branch=branch,
        )

    def recall(self, asked: RecallRequest) -> Recall:
        """Find facts in both files and write as many as fit the budget."""
        self._require_branch(asked.branch)
        return self._read_all(lambda stores: recall(stores, asked))

    def search(
        self,
        query: str,
        *,
        prefix: str = "",
        branch: str = MAIN,
        is_exact: bool = False,
        limit: int = 50,
    ) -> Found:
        """List the facts that match a query, the best first."""
        self._require_branch(branch)
        return self._read_all(
            lambda stores: search(
                stores, query, prefix=prefix, branch=branch, is_exact=is_exact, limit=limit
            )
        )

    def purge(self) -> tuple[Fact, ...]:
        """Retract the expired facts of both files."""
        return tuple(fact for store in self.stores for fact in purge_expired(store, self.author))

    def check(self, *, repair: bool = False) -> Mapping[str, tuple[str, ...]]:
        """Return the problems of each file. On request, rebuild the live facts from the ledger if
        they differ, and return the remaining problems.

        Raises:
            StoreUnavailableError: a file to be repaired is damaged.
        """
        check = repair_store if repair else check_store
        return {str(store.path): self._read(store, check) for store in self.stores}

    def _store_of(self, scope: Scope) -> FactStore:
        store = self.user if scope == "user" else self.project
        if store is None:
            name = "the user" if scope == "user" else "a project"
            raise BadInputError(f"no file of {name}'s facts exists", "Use another scope.")
        return store

    def _branch_of(self, store: FactStore, branch: str) -> str:
        """Return the branch to use in a file: project branches do not exist in the user's."""
        return MAIN if store is self.user else branch

    def _require_branch(self, branch: str) -> None:
        """Check that no branch is requested from a project without a file."""
        if self.project is None and branch != MAIN:
            raise unknown_branch(branch)

    def _find(self, wanted: str, branch: str) -> tuple[FactStore, Fact]:
        name_fact(wanted)
        self._require_branch(branch)
        for store in self.stores:
            with suppress(UnknownFactError):
                return store, self._read(store, self._finding(wanted, branch))
        raise _unknown(wanted)

    def _change(self, change: Callable[..., Fact], wanted: str, branch: str, why: str) -> Fact:
        store, fact = self._find(wanted, branch)
        own = self._branch_of(store, branch)
        return change(store, fact.path, self.author, branch=own, why=why)

    def _finding(self, wanted: str, branch: str) -> Callable[[FactStore], Fact]:
        def read(store: FactStore) -> Fact:
            own = self._branch_of(store, branch)
            with store.database.reading() as db:
                require_branch(db, own)
                return find_wanted(db, own, wanted)

        return read

    def _check_other_file(
        self, store: FactStore, wanted: str, branch: str, error: UnknownFactError
    ) -> None:
        """Report that the fact to supersede is in the other file: a transaction covers one file.

        Raises:
            BadInputError: it is in the other file.
        """
        for other in self.stores:
            if other is store:
                continue
            try:
                fact = self._read(other, self._finding(wanted, branch))
            except UnknownFactError:
                continue
            raise BadInputError(
                f"{wanted} is a fact of the {fact.scope}, but the new fact is not",
                f"Use the scope {fact.scope}, or forget {fact.id} separately.",
            ) from error

    def _read(self, store: FactStore, read: Callable[[FactStore], Answer]) -> Answer:
        """Read one file; read its last snapshot if it turns out to be damaged."""
        return self._read_all(lambda _: read(store))

    def _read_all(self, read: Callable[[tuple[FactStore, ...]], Answer]) -> Answer:
        while True:
            try:
                return read(self.stores)
            except StoreUnavailableError as error:
                if not any(store.fall_back(error) for store in self.stores):
                    raise


def _unknown(wanted: str) -> UnknownFactError:
    return UnknownFactError(f"no fact {str(wanted)[:80]!r}", "List them: context-mode memory list")
