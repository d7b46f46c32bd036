"""What the sandbox refused a run, as lines that say how to have it."""

from __future__ import annotations

from executor.model import Refusal, Result

LINES_MAX = 5
HEADS = {
    "exact": "refused",
    "told": "refused, as its error says",
    "inferred": "probably refused",
}
NOTHING = "nothing "


def list_refused_acts(result: Result) -> list[str]:
    """Write a line for each refusal that the answer does not tell anyway, the first few of them."""
    lines = [describe(one) for one in result.refusals if not _is_told_elsewhere(one)]
    more = len(lines) - LINES_MAX + result.refusals_omitted
    if more <= 0:
        return lines
    return [*lines[:LINES_MAX], f"refused: {more} more; `context-mode refusals` lists them"]


def describe(refusal: Refusal) -> str:
    """Write one refusal: `refused: network example.com (3 times), by …; to have it: …`."""
    times = f" ({refusal.count} times)" if refusal.count > 1 else ""
    tail = refusal.remedy
    if tail and not tail.startswith(NOTHING):
        tail = f"to have it: {tail}"
    what = f"{HEADS.get(refusal.certainty, 'refused')}: {refusal.kind} {refusal.target}{times}"
    return "; ".join(filter(None, (f"{what}, by {refusal.by}", tail)))


def _is_told_elsewhere(refusal: Refusal) -> bool:
    """Tell whether status, message or the list beside what changed have it already."""
    is_limit = refusal.kind == "limit" and refusal.certainty == "exact"
    return refusal.kind == "commit" or is_limit
