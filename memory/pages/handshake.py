"""When a push pauses, so that its session is distilled first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memory.pages.buffers import FRESH_S
from memory.pages.model import KNOWLEDGE

if TYPE_CHECKING:
    from memory.pages.buffers import Buffer
    from memory.pages.model import PageType


def needs_distilling(  # noqa: PLR0913 - a truth table of its conditions
    types: Iterable[PageType],
    buffer: Buffer | None,
    *,
    distill_done: bool,
    no_distill: bool,
    is_disabled: bool,
    now: float,
) -> bool:
    """Tell whether a batch of pages must wait: it has a concept or an analysis, the session's
    buffer has turns of the last six hours, and nobody said that it is distilled or need not be."""
    if distill_done or no_distill or is_disabled:
        return False
    has_knowledge = any(one in KNOWLEDGE for one in types)
    has_turns = buffer is not None and bool(buffer.turns) and now - buffer.at < FRESH_S
    return has_knowledge and has_turns
