"""Reasons why a file is in a pack, or left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repomap.model import LeftOut, Pack
from repomap.ranking import NEIGHBOUR, Ranked
from repomap.ranking import REASONS as EVIDENCE
from repomap.rendering import show_path
from repomap.walking import REASONS

SHOWN = 50
NEAR = EVIDENCE[NEIGHBOUR]


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a file in a ranking and a pack."""

    path: str
    kind: str  # its form in the pack; empty if it is not there
    reason: str
    rank: int = 0  # from 1; 0 without evidence
    of: int = 0
    score: float = 0.0
    tokens: int = 0
    evidence: tuple[tuple[str, float], ...] = ()  # parts of its score


def find_placement(
    path: str, pack: Pack, ranked: Sequence[Ranked], left_out: Sequence[LeftOut]
) -> Placement:
    """Find why a file, by its relative path, is in a pack or left out."""
    place = next((at for at, one in enumerate(ranked, 1) if one.row.path == path), 0)
    if not place:
        return Placement(path, "", _why_unranked(path, left_out), of=len(ranked))
    one = ranked[place - 1]
    item = next((item for item in pack.items if item.path == path), None)
    out = dict(pack.excluded).get(path, "")
    return Placement(
        path=path,
        kind=item.kind if item else "",
        reason="; ".join(one.reasons) if item else out,
        rank=place,
        of=len(ranked),
        score=one.score,
        tokens=item.tokens if item else 0,
        evidence=tuple((name, round(value, 4)) for name, value in one.parts),
    )


def explain(pack: Pack, ranked: Sequence[Ranked]) -> tuple[Placement, ...]:
    """Return the places of the first files of a ranking, and of all files in the pack."""
    held = {one.path for one in pack.items}
    shown = [one.row.path for at, one in enumerate(ranked) if at < SHOWN or one.row.path in held]
    found = tuple(find_placement(path, pack, ranked, ()) for path in shown)
    beside = held - set(shown)
    near = [Placement(one.path, one.kind, NEAR, tokens=one.tokens) for one in pack.items
            if one.path in beside]  # fmt: skip
    return (*found, *near)


def render_explained(found: Sequence[Placement], total: int) -> str:
    """Return places as lines: rank, score, form in the pack, tokens, path."""
    lines = [f"{'rank':>5} {'score':>6} {'in pack':<9} {'tokens':>6}  file"]
    for one in found:
        rank = str(one.rank) if one.rank else "-"
        strong = sorted(one.evidence, key=lambda pair: -pair[1])
        why = ", ".join(f"{name} {value:.2f}" for name, value in strong) or one.reason
        lines.append(
            f"{rank:>5} {one.score:>6.3f} {one.kind or '-':<9} {one.tokens or '-':>6}"
            f"  {show_path(one.path)}  ({why})"
        )
    lines.append(f"{total} files have evidence, or a rank by centrality")
    return "\n".join(lines)


def _why_unranked(path: str, left_out: Sequence[LeftOut]) -> str:
    for left, reason in left_out:
        if path == left or path.startswith(f"{left}/"):
            return f"left out of the map: {REASONS[reason]}"
    return "no evidence for it, or no such file"


def render_placement(one: Placement) -> str:
    """Return a placement as text."""
    state = f"in the pack ({one.kind}, {one.tokens} tokens)" if one.kind else "not in the pack"
    lines = [f"{one.path}: {state}: {one.reason}"]
    if one.rank:
        lines.append(f"rank {one.rank} of {one.of}, score {one.score:.3f} of the best file's")
        lines += [
            f"  {value:.3f}  {EVIDENCE[name]}"
            for name, value in sorted(one.evidence, key=lambda pair: -pair[1])
        ]
    return "\n".join(lines)
