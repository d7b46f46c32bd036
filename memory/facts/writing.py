"""Writing of facts: each call is one transaction, complete or not done."""

from __future__ import annotations

import heapq
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kb.query import STOP_WORDS
from kb.words import pairs
from memory.errors import BadInputError
from memory.facts.drafts import Prepared, clean_author, clean_why, prepare
from memory.facts.ledger import add_fact, append, digest_text
from memory.facts.model import (
    DEFAULT_CONTEXT,
    MAIN,
    Author,
    Change,
    Draft,
    Fact,
    Operation,
    UnknownFactError,
    Written,
    check_path,
    name_fact,
)
from memory.facts.reading import find_at, find_fact, read_facts, read_live, require_branch
from memory.facts.store import FactStore

SIMILAR_MAX = 5
OVERLAP_MIN = 0.5
_CANDIDATES = 10
_WORDS_MAX = 16
"""Longest words of a text, whose facts are compared with it in full."""

_FEW = 400
"""Words in more facts than this are looked up only if the others are too few."""

_SPARE = 3
"""Additional words that are looked up: facts that share only one word are skipped."""

_WORD = re.compile(r"[^\W_]+")
_OWN_MAX = 200
"""Last changes of a branch that are compared; no index has them."""


def find_similar(
    store: FactStore, written: Written, branch: str = MAIN
) -> tuple[tuple[Fact, float], ...]:
    """List the live facts whose stemmed words overlap those of a written one, the nearest first,
    with the overlap. The overlap is the share of common words among all words of both."""
    now = store.clock()
    with store.database.reading() as db:
        own = find_at(db, branch, written.path)
        if own is None:
            return ()
        words = list(_words_of(_text_of(own)))
        by_stem = {
            stem: word
            for word, stems in zip(words, store.stemmer.stem([one] for one in words), strict=True)
            for stem in stems
        }
        found = [
            fact
            for fact in _find_candidates(db, by_stem.values(), own, branch)
            if fact.id != own.id and (fact.expires_at is None or fact.expires_at > now)
        ]
    others = store.stemmer.stem(_words_of(_text_of(fact)) for fact in found) if found else []
    overlaps = [len(by_stem.keys() & one) / len(by_stem.keys() | one) for one in others]
    rated = [
        (fact, round(overlap, 3))
        for fact, overlap in zip(found, overlaps, strict=True)
        if overlap >= OVERLAP_MIN
    ]
    return tuple(sorted(rated, key=lambda one: (-one[1], one[0].path))[:SIMILAR_MAX])


def _find_candidates(
    db: sqlite3.Connection, words: Iterable[str], own: Fact, branch: str
) -> list[Fact]:
    """Read the facts that may share half of all words."""
    rows = _find_sharing(db, sorted(words, key=lambda word: (-len(word), word))[:_WORDS_MAX])
    if branch == MAIN:
        return read_live(db, "s.id IN (SELECT value FROM json_each(?))", [json.dumps(rows)])
    paths = db.execute(
        "SELECT path FROM live WHERE id IN (SELECT value FROM json_each(?1)) UNION SELECT path FROM"
        " (SELECT path FROM change WHERE branch = ?2 GROUP BY path"
        " ORDER BY max(seq) DESC LIMIT ?3)",
        (json.dumps(rows), branch, _OWN_MAX),
    )
    found = (find_at(db, branch, path) for (path,) in paths.fetchall() if path != own.path)
    return [fact for fact in found if fact]


def _find_sharing(db: sqlite3.Connection, words: Sequence[str]) -> list[int]:
    """Return the rows of `live` that may have half of the words, those with most of the rarest. A
    fact with half of the words lacks at most the other half. So among slightly more than half, the
    rarest, it has at least a few. Frequent words, which match everything, are not needed."""
    lacked = len(words) // 2
    found = sorted((*_list_rows(db, word, _FEW), word) for word in words)[: lacked + _SPARE]
    counts = Counter[str]()
    for count, rows, word in found:
        counts.update((rows if count < _FEW else _list_rows(db, word, -1)[1]).split())
    sharing = [row for row, count in counts.items() if count >= len(found) - lacked]
    best = heapq.nlargest(_CANDIDATES + 1, sharing, key=lambda row: (counts[row], int(row)))
    return [int(row) for row in best]


def _list_rows(db: sqlite3.Connection, word: str, most: int) -> tuple[int, str]:
    """Count the facts with a word in their own text, and list their rows, in one text: row by row
    takes twice as long."""
    count, found = db.execute(
        "SELECT count(*), coalesce(group_concat(rowid, ' '), '') FROM"
        " (SELECT rowid FROM live_fts WHERE live_fts MATCH ? LIMIT ?)",
        (f'{{title body parts}} : "{word}"', most),
    ).fetchone()
    return count, found


def _words_of(text: str) -> set[str]:
    """Return the significant words (all words if none is); in scripts without blanks, each
    two neighbouring characters."""
    words = {word for word in _split(text) if word not in STOP_WORDS} or set(_split(text))
    return words | set(pairs(text))


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text_of(fact: Fact) -> str:
    return f"{fact.title}\n{fact.text}"


def remember(store: FactStore, draft: Draft, author: Author, branch: str = MAIN) -> Written:
    """Write a fact; in the same transaction, replace the fact at its path and the one that it
    supersedes. The same text at its path writes nothing.

    Raises:
        BadInputError: the draft, the author or the branch is invalid.
        UnknownFactError: the fact to supersede does not exist.
        UnknownBranchError: the branch does not exist, or is closed.
    """
    now = store.clock()
    writer = clean_author(store.gate, author)
    prepared = prepare(store.gate, draft, writer, now)
    name = check_branch_name(branch)
    with store.database.writing() as db:
        require_branch(db, name, writes=True)
        written = write_prepared(db, prepared, writer, name, now)
    if written.is_unchanged:
        return written
    return replace(written, similar=find_similar(store, written, name))


def write_prepared(  # noqa: PLR0913 - how it is written
    db: sqlite3.Connection,
    draft: Prepared,
    author: Author,
    branch: str,
    now: float,
    *,
    operation: Operation | None = None,
    uid: str = "",
) -> Written:
    """Write the result of `prepare`, within a transaction. The ledger records an add or a replace,
    unless `operation` is given. A new text gets the id `uid` if it is unused.

    Raises:
        BadInputError: it is a session's, and would replace a project's fact.
        UnknownFactError: the fact to supersede does not exist.
    """
    old = _find_standing(db, draft, branch, now)
    wanted = draft.supersedes
    other = find_wanted(db, branch, wanted, draft.context) if wanted else None
    if other is not None and old is not None and other.path == old.path:
        other = None
    is_nearer = old is not None and draft.scope == "session" and old.scope != "session"
    if old is not None and is_nearer and not is_expired(old, now):
        raise BadInputError(
            f"{old.path} has a fact of the {old.scope}, and this one is a session's",
            "Use another key, or the scope of the existing fact.",
        )
    if old is not None and other is None and _is_same(old, draft, now):
        return Written(old.id, old.path, old.seq, True, redactions=draft.redactions)
    is_same_text = old is not None and has_same_text(old, draft)
    if old and is_same_text:
        uid = old.id
    else:
        uid = add_fact(db, draft.title, draft.body, draft.tags, uid=uid)
    path = old.path if old else (draft.path + uid if draft.path.endswith("/") else draft.path)
    replaced = old if old and not is_same_text else other
    change = Change(
        branch=branch,
        path=check_path(path),
        fact_id=uid,
        operation=operation or ("replace" if old else "add"),
        at=now,
        agent=author.agent,
        session=author.session,
        scope=draft.scope,
        category=draft.category,
        why=draft.why,
        confidence=draft.confidence,
        source=draft.source,
        expires_at=draft.expires_at,
        supersedes=replaced.id if replaced else "",
        is_pinned=draft.is_pinned or _stays_pinned(old, author, is_same_text),
    )
    if other is not None:
        retract(db, other, branch, author, now, f"superseded by {uid}")
    seq = append(db, change)
    return Written(uid, path, seq, False, replaced.id if replaced else "", draft.redactions)


def forget(
    store: FactStore, wanted: str, author: Author, *, branch: str = MAIN, why: str = ""
) -> Fact:
    """Retract a fact by its id or path, and return it. Its history stays.

    Raises:
        UnknownFactError: no current fact of the branch has this name.
    """
    return _change(store, wanted, author, "retract", branch, why)


def pin(
    store: FactStore, wanted: str, author: Author, *, branch: str = MAIN, why: str = ""
) -> Fact:
    """Pin a fact, so that each recall begins with it; return the pinned fact.

    Raises:
        UnknownFactError: no current fact of the branch has this name, or it is expired.
    """
    return _change(store, wanted, author, "pin", branch, why)


def unpin(
    store: FactStore, wanted: str, author: Author, *, branch: str = MAIN, why: str = ""
) -> Fact:
    """Undo `pin`; return the unpinned fact.

    Raises:
        UnknownFactError: no current fact of the branch has this name, or it is expired.
    """
    return _change(store, wanted, author, "unpin", branch, why)


def retract(  # noqa: PLR0913, PLR0917 - what a row of the ledger says
    db: sqlite3.Connection,
    fact: Fact,
    branch: str,
    author: Author,
    at: float,
    why: str,
    operation: Operation = "retract",
) -> None:
    """Add the row that removes the fact from its path."""
    change = _describe_change(fact, branch, operation, author, at, why)
    append(db, replace(change, supersedes=fact.id, expires_at=None))


def _describe_change(  # noqa: PLR0913, PLR0917 - what a row of the ledger says
    fact: Fact, branch: str, operation: Operation, author: Author, at: float, why: str
) -> Change:
    """Build a row about a fact whose text is unchanged."""
    by = (author.agent, author.session, fact.scope, fact.category)
    change = Change(branch, fact.path, "", operation, at, *by, why, fact.confidence)
    return replace(change, source=fact.source, expires_at=fact.expires_at)


def check_branch_name(branch: object) -> str:
    """Return the name of a branch if it is a text.

    Raises:
        BadInputError: it is not a text.
    """
    if not isinstance(branch, str):
        raise BadInputError("the branch is not a text", "Give the name of a branch.")
    return branch


def _change(  # noqa: PLR0913, PLR0917 - as the caller gave it
    store: FactStore, wanted: str, author: Author, operation: Operation, branch: str, why: str
) -> Fact:
    branch, now = check_branch_name(branch), store.clock()
    author, why = clean_author(store.gate, author), clean_why(store.gate, why)
    with store.database.writing() as db:
        require_branch(db, branch, writes=True)
        fact = find_wanted(db, branch, wanted)
        if operation == "retract":
            retract(db, fact, branch, author, now, why)
            return fact
        if is_expired(fact, now):
            raise UnknownFactError(
                f"{wanted[:80]!r} is expired", "Write it again, without a time or with a later one."
            )
        is_pinned = operation == "pin"
        if fact.is_pinned == is_pinned:
            return fact
        change = _describe_change(fact, branch, operation, author, now, why)
        append(db, replace(change, fact_id=fact.id, is_pinned=is_pinned))
        return find_fact(db, branch, fact.path)


def find_wanted(
    db: sqlite3.Connection, branch: str, wanted: str, context: str = DEFAULT_CONTEXT
) -> Fact:
    """Return the fact of a branch by its id, its path, or its key in a context.

    Raises:
        BadInputError: the name has another form.
        UnknownFactError: no current fact of the branch has this name.
    """
    return find_fact(db, branch, name_fact(wanted, context))


def is_expired(fact: Fact, now: float) -> bool:
    """Return whether a fact is expired."""
    return fact.expires_at is not None and fact.expires_at <= now


def _find_standing(db: sqlite3.Connection, draft: Prepared, branch: str, now: float) -> Fact | None:
    """Return the fact at the draft's path. A draft without a key has no path yet: it equals a fact
    with the same text in its folder."""
    if not draft.path.endswith("/"):
        return find_at(db, branch, draft.path)
    paths = db.execute(
        "SELECT DISTINCT c.path FROM fact f JOIN change c ON c.fact_id = f.id"
        " WHERE f.sha256 = ?1 AND c.path = ?2 || f.uid",
        (digest_text(draft.title, draft.body), draft.path),
    ).fetchall()
    for (path,) in paths:
        found = find_at(db, branch, path)
        if found and found.scope == draft.scope and not is_expired(found, now):
            return found if _has_same_digest(found, draft) else None
    return None


def _stays_pinned(old: Fact | None, author: Author, is_same_text: bool) -> bool:
    """Return whether a text written at a pinned path is pinned. A user's correction is; an agent's
    is not, since pins reach every conversation."""
    return old is not None and old.is_pinned and (is_same_text or author.agent == "user")


def _is_same(old: Fact, draft: Prepared, now: float) -> bool:
    """Return whether writing a draft would change nothing visible."""
    return (
        has_same_text(old, draft)
        and not draft.is_expiry_given
        and not is_expired(old, now)
        and (old.expires_at is None or draft.scope == "session")
        and (old.confidence, old.scope) == (draft.confidence, draft.scope)
        and (old.is_pinned or not draft.is_pinned)
    )


def has_same_text(old: Fact, draft: Prepared) -> bool:
    """Return whether a fact has the title, the body and the tags of a draft."""
    return _has_same_digest(old, draft) and old.tags == draft.tags


def _has_same_digest(old: Fact, draft: Prepared) -> bool:
    return old.sha256 == digest_text(draft.title, draft.body).hex()


def purge_expired(store: FactStore, author: Author) -> tuple[Fact, ...]:
    """Retract the expired facts of all open branches, and return them. Their history stays."""
    now, writer = store.clock(), clean_author(store.gate, author)
    gone: list[Fact] = []
    with store.database.writing() as db:
        branches = db.execute("SELECT name FROM branch WHERE state = 'open' ORDER BY name")
        for (branch,) in branches.fetchall():
            for fact in list(read_facts(db, branch, now=now, expired=True)):
                retract(db, fact, branch, writer, now, "expired", "expire")
                gone.append(fact)
    return tuple(gone)
