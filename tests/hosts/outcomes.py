"""What came of the checks of one host, as data: a line of JSON each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

REPORT = "CTXMODE_HOSTS_REPORT"  # names the file to which outcomes are appended
Kind = Literal["held", "failed", "not had"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check of one host in one scope. `why` says what was seen unless it held; `bytes_shown`
    and `seconds` are what was measured, where anything was."""

    host: str
    version: str
    scope: str
    check: str
    kind: Kind
    why: str = ""
    bytes_shown: int | None = None
    seconds: float | None = None


def is_reported() -> bool:
    """Whether the environment names a file for outcomes: only then does anyone read times."""
    return bool(os.environ.get(REPORT))


def report(outcomes: Iterable[Outcome]) -> None:
    """Append outcomes to the file that the environment names, if it names one."""
    if not (path := os.environ.get(REPORT)):
        return
    date = datetime.now(UTC).date().isoformat()
    lines = (json.dumps(asdict(outcome) | {"date": date}) for outcome in outcomes)
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
