"""Filling of a pack: the best files whole, then pieces, then skeletons, then one line each.

The finished text is counted as a whole; while it is over the budget, its last item is dropped.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb import GlobError, compile_glob, fits
from repomap import ranking
from repomap.model import (
    BUDGET_MAX,
    BUDGET_MIN,
    NAMED_MAX,
    Item,
    Kind,
    LeftOut,
    MapInputError,
    Pack,
    PackRequest,
)
from repomap.ranking import Ranked, find_neighbours
from repomap.reading import Loader, Piece, cut_pieces, rate_pieces
from repomap.rendering import render, render_addition
from repomap.store import read_skeleton, read_symbols
from repomap.words import cut_task, find_terms

FILLED_SHARE = 0.88
"""Share of the budget at which filling stops: estimates of parts add up to slightly less than the
whole's."""

RESERVED_SHARE = 0.08
WHOLE_SHARE, WHOLE_ALL_SHARE, WHOLE_FILES = 0.4, 0.6, 3
PIECE_FILES_MIN, PIECE_FILES = 12, 25
PIECE_CHARS = 100
"""Characters searched for pieces per token of the budget, in at least 12 files."""

PIECES_MAX = 400
CANDIDATES = 300
SKELETON_SHARE = 0.06
"""Largest share of a budget for one file's skeleton next to its pieces."""

PIECE_TOKENS = 8
"""Upper limit of tokens for the mark before a piece."""

TASK_SHARE = 0.12
SUMMARY_NAMES = 8
FAILED_MAX = 10
"""Lines in a row that may fail to fit before filling stops."""

NEIGHBOUR_SHARE = 0.04
LINES_SHARE = 0.15
"""Share reserved for lines, which skeletons could use up."""


@dataclass(slots=True)
class _Filling:
    """A pack that is being filled."""

    asked: PackRequest
    room: float
    items: dict[str, Item] = field(default_factory=dict)
    used: int = 0

    def offer(self, one: Item, added: str = "") -> bool:
        """Add a file, or replace its earlier item, if there is room. If the item only grew, `added`
        is the growth: counting all of it again for each piece takes long."""
        before = self.items.get(one.path)
        had = before.tokens if before else 0
        counted = added if before and added else render_addition(self.asked, one)
        tokens = self.asked.count(counted) + (had + PIECE_TOKENS if before and added else 0)
        used = self.used + tokens - had
        if used > self.room:
            return False
        self.items[one.path] = replace(one, tokens=tokens)
        self.used = used
        return True


def check_request(asked: PackRequest) -> None:
    """Check that a pack can be made.

    Raises:
        MapInputError: the budget is too small or too large, or a glob is malformed.
    """
    if not BUDGET_MIN <= asked.budget <= BUDGET_MAX:
        raise MapInputError(
            f"invalid budget of {asked.budget} tokens",
            f"Use {BUDGET_MIN:,} to {BUDGET_MAX:,} tokens.",
        )
    for glob in asked.paths:
        try:
            compile_glob(glob)
        except GlobError as error:
            raise MapInputError(f"{glob!r}: {error}", "Use a glob such as 'src/**'.") from error


def fit(  # noqa: PLR0913 - what a pack is made of
    db: sqlite3.Connection,
    root: Path,
    asked: PackRequest,
    ranked: Sequence[Ranked],
    *,
    file_bytes: int,
    notes: Sequence[str] = (),
) -> Pack:
    """Make a pack of the ranked files, within its budget.

    Raises:
        MapInputError: the request is invalid.
    """
    check_request(asked)
    loader = Loader(root, file_bytes, asked.redact)
    near = find_neighbours(db, ranked)
    kept, excluded = _choose([*ranked, *(one for one in near if not one.score)], asked)
    task = _cut_to(asked.redact(cut_task(asked.task))[0], asked, TASK_SHARE)
    empty = Pack(asked, task, notes=tuple(notes))
    room = FILLED_SHARE * asked.budget - asked.count(render(empty))
    filling = _Filling(asked, room - RESERVED_SHARE * asked.budget / 2)
    if asked.with_source:
        _fill_whole(filling, kept, loader)
    _fill_neighbours(filling, db, kept, near)
    if asked.with_source:
        _fill_pieces(filling, db, kept, loader)
    _fill_lines(filling, db, kept, loader)
    order = {one.row.path: at for at, one in enumerate(kept)}
    items = sorted(filling.items.values(), key=lambda one: order[one.path])
    over = [one.row.path for one in kept if one.row.path not in filling.items]
    out = [(path, "over the budget") for path in over]
    return _finish(replace(empty, items=tuple(items)), [*out, *excluded], loader)


def _choose(ranked: Sequence[Ranked], asked: PackRequest) -> tuple[list[Ranked], list[LeftOut]]:
    kept, out = list[Ranked](), list[LeftOut]()
    for one in ranked:
        path = one.row.path
        if asked.paths and not any(_is_meant(path, glob) for glob in asked.paths):
            out.append((path, "outside the requested paths"))
        elif not asked.with_tests and ranking.is_test(path):
            out.append((path, "a test"))
        else:
            kept.append(one)
    return kept, out


def _is_meant(path: str, given: str) -> bool:
    """Return whether a path matches: it is the given path, is below that folder, or matches that
    glob."""
    plain = given.removeprefix("./").rstrip("/")
    below = path == plain or path.startswith(f"{plain}/") or plain in ("", ".")
    return below or fits(given, path)


def _cut_to(text: str, asked: PackRequest, share: float) -> str:
    """Cut a text at the end of a line or a word to a share of the budget."""
    most = int(share * asked.budget)
    if asked.count(text) <= most:
        return text
    sizes = range(1, len(text) + 1)
    fits = bisect_left(sizes, most, key=lambda size: asked.count(text[:size]))
    return text[:fits].rstrip() + " […]"


def _make(one: Ranked, kind: Kind, content: str, lines: Sequence[tuple[int, int]] = ()) -> Item:
    row = one.row
    reasons = one.reasons if kind != "summary" else ()
    language = row.language or ""
    return Item(row.path, kind, content, one.score, 0, reasons, tuple(lines), language)


def _fill_whole(filling: _Filling, kept: Sequence[Ranked], loader: Loader) -> None:
    """Add the best files whole, up to their share."""
    asked = filling.asked
    for one in kept[:WHOLE_FILES]:
        text = loader.load(one.row.path)
        if not text:
            continue
        item = _make(one, "full", text, [(1, max(one.row.lines, 1))])
        tokens = asked.count(render_addition(asked, item))
        within = filling.used + tokens <= WHOLE_ALL_SHARE * asked.budget
        if tokens <= WHOLE_SHARE * asked.budget and within:
            filling.offer(item)


def _fill_neighbours(
    filling: _Filling, db: sqlite3.Connection, kept: Sequence[Ranked], near: Sequence[Ranked]
) -> None:
    """Add a line for each neighbour of the best files, up to their share."""
    room = filling.used + NEIGHBOUR_SHARE * filling.asked.budget
    may = {one.row.path for one in kept}
    for one in near:
        if one.row.path in may and one.row.path not in filling.items and filling.used < room:
            filling.offer(_make(one, "summary", _summarize(filling.asked, db, one)))


def _fill_pieces(
    filling: _Filling, db: sqlite3.Connection, kept: Sequence[Ranked], loader: Loader
) -> None:
    """Add the pieces that fit the task best, each file's skeleton with its first piece."""
    by_path: dict[str, Ranked] = {}
    pieces: list[Piece] = []
    chars = 0
    for one in kept[:PIECE_FILES]:
        if len(by_path) >= PIECE_FILES_MIN and chars > PIECE_CHARS * filling.asked.budget:
            break
        path = one.row.path
        held = filling.items.get(path)
        text = None if held and held.kind == "full" else loader.load(path)
        if text:
            chars += len(text)
            by_path[path] = one
            pieces += cut_pieces(path, text, read_symbols(db, one.row.id))
    terms = find_terms(cut_task(filling.asked.task))
    scores = {path: one.score for path, one in by_path.items()}
    taken: dict[str, list[Piece]] = {}
    skeletons = {path: _skeleton(filling.asked, db, one) for path, one in by_path.items()}
    for _, piece in rate_pieces(pieces, terms, scores)[:PIECES_MAX]:
        one = by_path[piece.path]
        chosen = [*taken.get(piece.path, ()), piece]
        if filling.offer(_join(one, chosen, skeletons[piece.path]), piece.text):
            taken[piece.path] = chosen


def _skeleton(asked: PackRequest, db: sqlite3.Connection, one: Ranked) -> str:
    """Return the signatures of a file to go with its pieces; empty if they are too long."""
    text = asked.redact(read_skeleton(db, one.row.id))[0]
    return text if asked.count(text) <= SKELETON_SHARE * asked.budget else ""


def _outline(asked: PackRequest, db: sqlite3.Connection, one: Ranked) -> str:
    """Return the signatures of a file to replace its text; of a long one the outermost that fit."""
    text = asked.redact(read_skeleton(db, one.row.id))[0]
    room = SKELETON_SHARE * asked.budget
    if asked.count(text) <= room:
        return text
    lines = [line for line in text.split("\n") if line[:1].strip()]

    def cut(count: int) -> str:
        return "\n".join([*lines[:count], "…"])

    fits = bisect_right(range(1, len(lines) + 1), room, key=lambda count: asked.count(cut(count)))
    return cut(fits) if fits else ""


def _join(one: Ranked, pieces: Sequence[Piece], skeleton: str) -> Item:
    """Return a file in parts: its skeleton, and pieces in the order of their lines."""
    ordered = sorted(pieces, key=lambda piece: piece.start)
    texts: list[str] = []
    lines: list[tuple[int, int]] = []
    for piece in ordered:
        if lines and lines[-1][1] + 1 == piece.start:
            lines[-1] = (lines[-1][0], piece.end)
        else:
            lines.append((piece.start, piece.end))
            texts.append(f"[line {piece.start}]")
        texts.append(piece.text)
    content = "\n".join(([f"[skeleton]\n{skeleton}"] if skeleton else []) + texts)
    return _make(one, "parts", content, lines)


def _fill_lines(
    filling: _Filling, db: sqlite3.Connection, kept: Sequence[Ranked], loader: Loader
) -> None:
    """Add skeletons up to their share, then a line for each other file."""
    asked = filling.asked
    waiting = [one for one in kept[:CANDIDATES] if _is_smaller(filling, one)]
    for one in waiting[:PIECE_FILES]:
        if filling.used > filling.room - LINES_SHARE * asked.budget:
            break
        text = _outline(asked, db, one)
        if text:
            filling.offer(_make(one, "skeleton", text))
    failed = 0
    for one in waiting:
        if one.row.path in filling.items:
            continue
        taken = filling.offer(_make(one, "summary", _summarize(asked, db, one)))
        failed = 0 if taken else failed + 1
        if failed == FAILED_MAX:
            break


def _is_smaller(filling: _Filling, one: Ranked) -> bool:
    """Return whether a pack has only a line of a file, or nothing."""
    held = filling.items.get(one.row.path)
    return held is None or held.kind == "summary"


def _summarize(asked: PackRequest, db: sqlite3.Connection, one: Ranked) -> str:
    """Return the purpose of a file and the first names that it defines."""
    names = [s.name for s in read_symbols(db, one.row.id) if s.kind != "heading" and not s.parent]
    shown = ", ".join(dict.fromkeys(names[:SUMMARY_NAMES]))
    purpose = asked.redact(one.row.purpose)[0]
    return "; ".join(part for part in (purpose, shown) if part)


def _finish(draft: Pack, excluded: list[LeftOut], loader: Loader) -> Pack:
    """Render a pack, and drop items from its end until it fits the budget.

    Raises:
        MapInputError: its head alone is over the budget.
    """
    asked = draft.asked
    items = list(draft.items)
    named = NAMED_MAX
    while True:
        warnings = [w for one in items for w in loader.warnings.get(one.path, ())]
        whole = _render_counted(
            replace(
                draft,
                items=tuple(items),
                excluded=tuple(excluded),
                warnings=tuple(sorted(warnings)),
                named=named,
            )
        )
        if whole.used <= asked.budget:
            return whole
        if items:
            excluded.insert(0, (items.pop().path, "over the budget"))
        elif named:
            named = 0
        else:
            raise MapInputError(
                f"a pack's head alone takes {whole.used} tokens, over the budget of {asked.budget}",
                f"Use a budget of at least {whole.used + BUDGET_MIN}, or a shorter task.",
            )


def _render_counted(draft: Pack) -> Pack:
    """Render a pack with its own size; the stated size is never below the real one."""
    asked = draft.asked
    text = render(draft)
    used = asked.count(text)
    if asked.format != "json":
        return replace(draft, used=used, text=text)
    while True:
        text = render(replace(draft, used=used))
        counted = asked.count(text)
        if counted <= used:
            return replace(draft, used=used, text=text)
        used = counted
