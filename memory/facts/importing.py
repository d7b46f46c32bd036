"""Import of facts: own JSON, CTXone's export, a CLAUDE.md, ContextOS's DECISIONS.md.

Each fact is checked like a new one. Skipped facts are reported; the others are written in one
transaction, so a kill leaves all of them or none. Pins of a file are ignored unless requested:
otherwise a foreign text would begin each conversation.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from memory.errors import BadInputError
from memory.facts.drafts import Prepared, clean_author, prepare
from memory.facts.exporting import DECISIONS, SCHEMA
from memory.facts.import_forms import (
    FACTS_MAX,
    Incoming,
    Reading,
    cut_list,
    read_claude_md,
    read_ctxone,
    read_own,
)
from memory.facts.model import MAIN, Author, Fact, Imported, Scope, write_origin
from memory.facts.priming import TEXT_BYTES_MAX as MARKDOWN_BYTES_MAX
from memory.facts.reading import find_at, require_branch
from memory.facts.store import FactStore
from memory.facts.writing import check_branch_name, has_same_text, is_expired, write_prepared
from memory.texts import size_bytes

Form = Literal["json", "ctxone", "claude-md", "decisions"]
FORMS: tuple[Form, ...] = get_args(Form)
_MARKDOWN_FORMS = ("claude-md", "decisions")
TEXT_BYTES_MAX = 16 << 20
_DIFFERENT_PIN = "a pinned fact with another text is there, and pins are not imported"


_Ready = tuple[Prepared, str, bool]
"""A fact ready to be written, its original id, and whether its file pins it."""


def import_facts(  # noqa: PLR0913 - how it is imported
    store: FactStore,
    text: str,
    *,
    form: str = "",
    author: Author,
    branch: str = MAIN,
    source: str = "CLAUDE.md",
    scope: Scope = "project",
    takes_pins: bool = False,
) -> Imported:
    """Import a text; without `form`, its form is detected. `source` names a CLAUDE.md. `scope` is
    the scope of the file of facts: "user" for the user's own.

    Raises:
        BadInputError: the text has an unknown form, is too large, or has no facts.
        UnknownBranchError: the branch does not exist, or is closed.
    """
    _check_text(text)
    kind, reading = _read(store, text, form, source, scope)
    if len(reading.found) > FACTS_MAX:
        raise BadInputError(
            f"{len(reading.found)} facts are too many; the limit is {FACTS_MAX} at once",
            "Import it in parts, or copy a whole file of facts: context-mode memory backup",
        )
    writer, name, now = clean_author(store.gate, author), check_branch_name(branch), store.clock()
    ready = _prepare_all(store, reading, scope, takes_pins=takes_pins)
    left_out = reading.list_left_out()
    if not ready and not left_out:
        raise BadInputError("no facts found", "Give a file that contains facts.")
    taken = defaultdict[str, list[str]](list)
    with store.database.writing() as db:
        require_branch(db, name, writes=True)
        for one in ready:
            _take(db, one, taken, author=writer, branch=name, now=now)
    return Imported(
        kind,
        tuple(taken["added"]),
        tuple(taken["changed"]),
        tuple(taken["same"]),
        left_out=cut_list([*left_out, *taken["left_out"]]),
        not_pinned=tuple(taken["not_pinned"]),
        redactions=sum(prepared.redactions for prepared, *_ in ready),
    )


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise BadInputError("the import is not a text", "Give the text of a file.")
    if size_bytes(text) > TEXT_BYTES_MAX:
        raise BadInputError(
            f"the text has {size_bytes(text)} bytes; the limit is {TEXT_BYTES_MAX}",
            "Import it in parts, or copy a whole file of facts: context-mode memory backup",
        )


def _read(
    store: FactStore, text: str, form: str, source: str, scope: Scope
) -> tuple[Form, Reading]:
    if form not in ("", *FORMS):
        raise BadInputError(f"unknown form {str(form)[:40]!r}", f"Give one of {', '.join(FORMS)}.")
    plain = text.lstrip("\ufeff \t\r\n")
    if not plain:
        raise BadInputError("the text is empty", "Give a file that contains facts.")
    if form in _MARKDOWN_FORMS or (not form and plain[0] not in "{["):
        if size_bytes(plain) > MARKDOWN_BYTES_MAX:
            raise BadInputError(
                f"the Markdown text is too large; the limit is {MARKDOWN_BYTES_MAX} bytes",
                "Import smaller files.",
            )
        # As a whole, since a private part or a secret may span headings.
        clean = store.gate.clean(plain)
        if form == "decisions" or (not form and source == DECISIONS):
            return "decisions", read_claude_md(clean, source, scope, category="decide")
        return "claude-md", read_claude_md(clean, source, scope)
    document = _parse(plain)
    if form == "ctxone" or (not form and _is_ctxone(document)):
        return "ctxone", read_ctxone(document, scope)
    return "json", read_own(_find_facts(document))


def _is_ctxone(document: object) -> bool:
    if not isinstance(document, dict) or "facts" in document:
        return False
    if isinstance(document.get("paths"), dict):
        return True
    return bool(document) and all(key.startswith("/") for key in document)


def _find_facts(document: object) -> object:
    if not isinstance(document, dict) or "facts" not in document:
        raise BadInputError(
            "the JSON is not an export of context-mode or CTXone",
            "Give what `context-mode memory export` or `ctx db export` writes.",
        )
    schema = document.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise BadInputError(
            f"unknown schema {str(schema)[:80]!r}; the known one is {SCHEMA!r}",
            "Update context-mode.",
        )
    return document["facts"]


def _parse(text: str) -> Any:  # noqa: ANN401 - whatever stands in it
    try:
        return json.loads(text, object_pairs_hook=_make_object, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise BadInputError("the JSON is nested too deeply", "Give a flatter one.") from error
    except ValueError as error:
        raise BadInputError(
            f"invalid JSON: {str(error)[:200]}", "For Markdown, use the form claude-md."
        ) from error


def _make_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadInputError(f"an object has the key {twice[:80]!r} twice", "Remove one of the two.")
    return found


def _refuse_constant(name: str) -> None:
    raise BadInputError(f"{name} is not a number", "Use null or a number.")


def _prepare_all(
    store: FactStore, reading: Reading, scope: Scope, *, takes_pins: bool
) -> list[_Ready]:
    """Check and clean the facts; rejected ones are listed as skipped."""
    ready: dict[str, _Ready] = {}
    now = store.clock()
    for one in reading.found:
        shown = repr(one.draft.path)[1:-1]
        try:
            found = _prepare(store, one, now, scope, takes_pins=takes_pins)
        except BadInputError as error:
            reading.leave(shown, error.message)
            continue
        path = found[0].path
        if path in ready:
            reading.leave(shown, "the same path comes earlier in the file")
        else:
            ready[path] = found
    return list(ready.values())


def _prepare(
    store: FactStore, one: Incoming, now: float, scope: Scope, *, takes_pins: bool
) -> _Ready:
    keyed = one.with_key()
    is_pinned = keyed.draft.is_pinned
    draft = replace(keyed.draft, is_pinned=is_pinned and takes_pins)
    if one.expires_at is not None:
        if one.expires_at <= now:
            raise BadInputError("it is expired")
        draft = replace(draft, ttl_s=one.expires_at - now)
    prepared = prepare(store.gate, draft, Author(), now)
    if (prepared.scope == "user") != (scope == "user"):
        takes = "user" if prepared.scope == "user" else "project"
        raise BadInputError(f"it is a fact of the {prepared.scope}: import it with --scope {takes}")
    if one.expires_at is not None:
        prepared = replace(prepared, expires_at=one.expires_at)
    if one.origin.agent:
        by = clean_author(store.gate, one.origin)
        origin = replace(by, source=prepared.source, at=one.origin.at)
        prepared = replace(prepared, source=write_origin(origin))
    return prepared, one.uid, is_pinned


def _take(  # noqa: PLR0913 - what a write is given
    db: sqlite3.Connection,
    one: _Ready,
    taken: Mapping[str, list[str]],
    *,
    author: Author,
    branch: str,
    now: float,
) -> None:
    """Write one fact, and note its path by result."""
    prepared, uid, was_pinned = one
    old = find_at(db, branch, prepared.path)
    standing = None if old is None or is_expired(old, now) else old
    is_same_text = standing is not None and has_same_text(standing, prepared)
    if standing and standing.is_pinned and not is_same_text and not prepared.is_pinned:
        taken["left_out"].append(f"{prepared.path}: {_DIFFERENT_PIN}")
        return
    if was_pinned and not prepared.is_pinned and not (standing and standing.is_pinned):
        taken["not_pinned"].append(prepared.path)
    if standing and is_same_text and _stands_as_given(standing, prepared):
        taken["same"].append(prepared.path)
        return
    try:
        written = write_prepared(db, prepared, author, branch, now, operation="import", uid=uid)
    except BadInputError as error:
        taken["left_out"].append(f"{prepared.path}: {error.message}")
        return
    became = "same" if written.is_unchanged else "changed" if standing else "added"
    taken[became].append(written.path)


def _stands_as_given(fact: Fact, prepared: Prepared) -> bool:
    """Return whether the fact with the same text also has the expiry of the import."""
    return (
        prepared.is_expiry_given
        and fact.expires_at == prepared.expires_at
        and (fact.confidence, fact.scope) == (prepared.confidence, prepared.scope)
        and (fact.is_pinned or not prepared.is_pinned)
    )
