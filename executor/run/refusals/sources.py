"""From what refusals are learned, a row each: their words, and when a reader wants to know.

What a program tries and copes with is no news: a row that is told `if_failed` shows only where the
run did not end well. The others say what a run that ended well was kept from, too.
"""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from executor.model import Refusal

EXACT, TOLD, INFERRED = "exact", "told", "inferred"
NOTHING = "nothing grants it"
BY_NAME = 'by name: network = ["HOST"] in a profile of yours, then through HTTPS_PROXY'


class Source(NamedTuple):
    """One way to learn of refusals. `{target}` in a remedy stands for what was tried."""

    kind: str
    by: str
    certainty: str
    remedy: str
    if_failed: bool = False
    if_error: int = 0  # of which the program's errors speak, too: it does not stand by itself

    def found(self, target: str, count: int = 1, why: str = "") -> Found:
        """One refusal of this row; `why` is what refused it said besides."""
        by = f"{self.by}: {why}" if why else self.by
        remedy = self.remedy.replace("{target}", target)
        return Found(self, Refusal(self.kind, target, by, self.certainty, count, remedy))


class Found(NamedTuple):
    """A refusal, and the row that it is of."""

    source: Source
    refusal: Refusal


TABLE = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))


def _read_row(remedy: str = NOTHING, if_error: str = "", **row: Any) -> Source:  # noqa: ANN401 - what TOML has
    return Source(remedy=remedy, if_error=getattr(errno, if_error, 0), **row)


SOURCES = {name: _read_row(**row) for name, row in TABLE["sources"].items()}
