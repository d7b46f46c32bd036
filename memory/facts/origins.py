"""Where an imported fact comes from: its `source` names who wrote it elsewhere, and when.

It reads "README.md; by codex:s1 at 2026-05-28T20:26:40.000Z". So the ledger says who imported it,
and an export of it is the same as that which it came from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

LATEST_AT = 253_402_300_799.0
"""The last second of the year 9999."""

_ESCAPED = {"%": "%25", ":": "%3A", ";": "%3B", " ": "%20"}
_PLAIN = {escaped: mark for mark, escaped in _ESCAPED.items()}
_MARK = re.compile("[%:; ]")
_ESCAPE = re.compile("|".join(_PLAIN))
_ORIGIN = re.compile(
    r"(?:(?P<source>.*); )?by (?P<agent>[^:; ]+)(?::(?P<session>[^:; ]+))?"
    r"(?: at (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """A fact's own source, and who wrote it when: `agent` is empty where nobody is named, `at` is
    None where no time is. Times are in whole milliseconds."""

    source: str = ""
    agent: str = ""
    session: str = ""
    at: float | None = None


NOBODY = Origin()


def write_origin(origin: Origin) -> str:
    """Return the `source` of a fact that is imported."""
    if not origin.agent:
        return origin.source
    name = ":".join(_MARK.sub(lambda mark: _ESCAPED[mark[0]], one)
                    for one in (origin.agent, origin.session) if one)  # fmt: skip
    by = f"by {name}" if origin.at is None else f"by {name} at {_write_time(origin.at)}"
    return f"{origin.source}; {by}" if origin.source else by


def read_origin(source: str) -> Origin:
    """Undo `write_origin`."""
    found = _ORIGIN.fullmatch(source)
    if found is None:
        return Origin(source)
    try:
        at = datetime.fromisoformat(found["at"]).timestamp() if found["at"] else None
    except ValueError:  # such as a month 13
        return Origin(source)
    agent, session = (
        _ESCAPE.sub(lambda mark: _PLAIN[mark[0]], one or "")
        for one in (found["agent"], found["session"])
    )
    return Origin(found["source"] or "", agent, session, at)


def find_own_source(source: str) -> str:
    """Return a fact's own source, whether it was imported or not."""
    return read_origin(source).source


def _write_time(at: float) -> str:
    whole, thousandths = divmod(round(at * 1000), 1000)
    day = datetime.fromtimestamp(whole, UTC).replace(tzinfo=None)
    return f"{day.isoformat()}.{thousandths:03}Z"
