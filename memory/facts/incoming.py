"""What a file that is imported says, before it is checked and cleaned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memory.facts.model import Draft
from memory.facts.origins import NOBODY, Origin

FACTS_MAX = 20_000
"""An import is one transaction, for which other writers wait."""

LEFT_OUT_MAX = 1000
_REASON_CHARS = 400


@dataclass(frozen=True, slots=True)
class Incoming:
    """A fact of a file. `origin` says who wrote it there; `uid` is the id it had, else empty."""

    draft: Draft
    origin: Origin = NOBODY
    expires_at: float | None = None
    uid: str = ""

    def with_key(self) -> Incoming:
        """Return it with the last part of its path as its key: a value may be a secret only by its
        name."""
        key = self.draft.path.rpartition("/")[2]
        return replace(self, draft=replace(self.draft, key=key))


@dataclass(slots=True)
class Reading:
    """The facts of a file in its order, and what of it cannot be taken, with why."""

    found: list[Incoming] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)

    def leave(self, where: str, why: str) -> None:
        """Note that something of the file is left out."""
        self.left_out.append(f"{where[:_REASON_CHARS]}: {why[:_REASON_CHARS]}")

    def count(self, why: str) -> None:
        """Note that one more of a kind is left out."""
        self._counts[why] += 1

    def list_left_out(self) -> tuple[str, ...]:
        """List what is left out, and the kinds with their numbers; of very many not each."""
        counted = [f"{why} ({number} times)" for why, number in sorted(self._counts.items())]
        return cut_list([*self.left_out, *counted])


def cut_list(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, and how many more there are."""
    found = list(lines)
    more = len(found) - LEFT_OUT_MAX
    return tuple(found) if more <= 0 else (*found[:LEFT_OUT_MAX], f"and {more} more")
