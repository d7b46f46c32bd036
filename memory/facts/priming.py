"""Priming: stores each part of a Markdown file below a heading of level 1 or 2 as a fact.

Priming an unchanged file again writes nothing; a changed one changes, adds and retracts its facts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from memory.errors import BadInputError
from memory.facts.drafts import Prepared, clean_author, prepare
from memory.facts.model import (
    MAIN,
    PINNED,
    PRIMED,
    TITLE_BYTES_MAX,
    Author,
    Draft,
    Fact,
    Imported,
    find_own_source,
    make_slug,
)
from memory.facts.reading import read_facts, require_branch
from memory.facts.store import FactStore
from memory.facts.writing import check_branch_name, retract, write_prepared
from memory.gate import count_redactions
from memory.texts import cut_bytes, size_bytes

if TYPE_CHECKING:
    from markdown_it.token import Token

TEXT_BYTES_MAX = 1 << 20
SECTIONS_MAX = 2000
_SLUG_BYTES = 120
_SOURCE_BYTES = 80
_HEADING_CHARS = 2000
_LEVELS = {"h1": 1, "h2": 2}
_FRONT_MATTER = re.compile(r"---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_NOT_IN_A_PART = re.compile(r"[^\w.\-]+")
_BLOCKS = MarkdownIt("commonmark").disable("inline")
_INLINE = MarkdownIt("commonmark")


Section = tuple[int, str, str]
"""A heading's level and title, and the text below. The text before the first has level 0."""


def prime(  # noqa: PLR0913 - where it comes from, and where it goes
    store: FactStore,
    text: str,
    *,
    source: str,
    title: str,
    author: Author,
    is_pinned: bool = False,
    branch: str = MAIN,
) -> Imported:
    """Store the sections of a Markdown text as the facts of a source, in one transaction. Facts
    whose section is gone from the source are retracted. `title` names the text before the first
    heading.

    Raises:
        BadInputError: the text is empty or too long, or a section of it is.
        UnknownBranchError: the branch does not exist, or is closed.
    """
    _check_texts(text, source, title)
    # As a whole, since a private part or a secret may span headings.
    cleaned = store.gate.clean(text)
    redactions = count_redactions(text, cleaned)
    name = make_source(store.gate.clean(source))
    root = f"{PINNED if is_pinned else PRIMED}/{name}/"
    name_of_rest = cut_bytes(" ".join(store.gate.clean(title).split()), TITLE_BYTES_MAX)
    now, writer = store.clock(), clean_author(store.gate, author)
    drafts = {
        f"{root}{slug}": Draft(body, head, f"{root}{slug}", source=name, is_pinned=is_pinned)
        for slug, (_, head, body) in _name_sections(cleaned, name_of_rest)
    }
    if not drafts:
        raise BadInputError("the text is empty", "Give a Markdown text with content.")
    prepared = [_prepare(store, draft, writer, now) for draft in drafts.values()]
    added: list[str] = []
    changed: list[str] = []
    same: list[str] = []
    with store.database.writing() as db:
        require_branch(db, check_branch_name(branch), writes=True)
        old = _read_primed(read_facts(db, branch, now=now, prefix=f"{PINNED}/{name}/"), name)
        old |= _read_primed(read_facts(db, branch, now=now, prefix=f"{PRIMED}/{name}/"), name)
        for one in prepared:
            written = write_prepared(db, one, writer, branch, now)
            is_new = written.path not in old
            (same if written.is_unchanged else added if is_new else changed).append(written.path)
        gone = [fact for path, fact in old.items() if path not in drafts]
        for fact in gone:
            retract(db, fact, branch, writer, now, f"{name} no longer has it")
    removed = tuple(fact.path for fact in gone)
    paths = (tuple(added), tuple(changed), tuple(same), removed)
    return Imported("", *paths, redactions=redactions)


def _prepare(store: FactStore, draft: Draft, author: Author, now: float) -> Prepared:
    try:
        return prepare(store.gate, draft, author, now)
    except BadInputError as error:
        message = f"section {draft.title[:80]!r}: {error.message}"
        raise BadInputError(message, error.remedy) from error


def split_sections(text: str, title: str) -> list[Section]:
    """Split a Markdown text at its headings of level 1 and 2, in both forms, outside lists,
    quotations and fences. A heading without text is a fact itself, unless it has subsections."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(plain)
    plain = plain[front.end() :] if front else plain
    lines = plain.split("\n")
    heads = list(_find_headings(plain))
    starts = [(0, title, 0, 0), *heads]
    ends = [start for _, _, start, _ in heads] + [len(lines)]
    found = [
        (level, name, "\n".join(lines[after:end]).strip())
        for (level, name, _, after), end in zip(starts, ends, strict=True)
    ]
    kept = []
    following = [level for level, *_ in found[1:]] + [0]
    for (level, name, body), after in zip(found, following, strict=True):
        if body:
            kept.append((level, name, body))
        elif level and name and after <= level:
            kept.append((level, name, name))
    return kept


def make_source(source: str) -> str:
    """Return the part of a path that names a source, such as README.md."""
    plain = _NOT_IN_A_PART.sub("-", source.strip()).strip("-.")
    if not plain:
        raise BadInputError(f"invalid source name {source[:80]!r}", "Use a name such as README.md.")
    if size_bytes(plain) <= _SOURCE_BYTES:
        return plain
    # Two long names may begin with the same characters.
    return cut_bytes(plain, _SOURCE_BYTES - 10).rstrip("…-.") + "-" + _digest(plain)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _find_headings(text: str) -> Iterator[tuple[int, str, int, int]]:
    """Yield level, title, first line and the line after, for each heading that splits."""
    tokens = _BLOCKS.parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and not token.level and token.tag in _LEVELS and token.map:
            yield _LEVELS[token.tag], _write_title(tokens[at + 1]), token.map[0], token.map[1]


def _write_title(heading: Token) -> str:
    """Return a heading's text without its marks, in one line, cut to the length of a title."""
    content = heading.content[:_HEADING_CHARS]
    (inline,) = _INLINE.parseInline(content)
    pieces = (_write_inline(token) for token in inline.children or ())
    return cut_bytes(" ".join("".join(pieces).split()), TITLE_BYTES_MAX)


def _write_inline(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return "" if token.type == "html_inline" else token.content


def _name_sections(text: str, title: str) -> Iterator[tuple[str, Section]]:
    """Yield each section with its slug: a second equal one ends in -2."""
    sections = split_sections(text, title)
    if len(sections) > SECTIONS_MAX:
        raise BadInputError(
            f"the text has {len(sections)} sections", f"Give up to {SECTIONS_MAX} at once."
        )
    used: set[str] = set()
    counts: dict[str, int] = {}
    for section in sections:
        base = cut_bytes(make_slug(section[1]), _SLUG_BYTES).rstrip("…") or "section"
        slug, count = base, counts.get(base, 1)
        while slug in used:
            count += 1
            slug = f"{base}-{count}"
        counts[base] = count
        used.add(slug)
        yield slug, section


def _read_primed(facts: Iterator[Fact], source: str) -> dict[str, Fact]:
    """Return the facts that priming wrote, by path; a user may have put others next to them."""
    return {fact.path: fact for fact in facts if find_own_source(fact.source) == source}


def _check_texts(text: object, source: object, title: object) -> None:
    for name, value in (("text", text), ("source", source), ("title", title)):
        if not isinstance(value, str):
            raise BadInputError(f"the {name} is not a text", f"Give the {name} as a text.")
        size = size_bytes(value)
        if size > TEXT_BYTES_MAX:
            raise BadInputError(
                f"the {name} has {size} bytes; the limit is {TEXT_BYTES_MAX}",
                "Prime smaller files.",
            )
