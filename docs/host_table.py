"""Writes the table of driven hosts in hosts.md, from the outcomes of one run of `tests/hosts`, and
that of all hosts in agents.md, from their rows.

python docs/host_table.py [FILE]

FILE has new outcomes, as CTXMODE_HOSTS_REPORT=FILE ./run-tests -m hosts -n 1 appends them. They
take the place of those that are kept in docs/hosts.jsonl.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxmode.hosts.setup.hosts import HOSTS

HERE = Path(__file__).resolve().parent
PAGE, KEPT, AGENTS = HERE / "hosts.md", HERE / "hosts.jsonl", HERE / "agents.md"
MARK, END = "<!-- by docs/host_table.py -->", "<!-- end -->"
# Columns: their head, and the beginnings of the checks that they stand for.
COLUMNS: Sequence[tuple[str, str]] = (
    ("tools in first turn", "tools in first turn"),
    ("five calls", "five calls right"),
    ("redirects", "hooks fire"),
    ("… while starting", "redirect while starting"),
    ("refuses", "refuses: "),
    ("asks", "ask"),
    ("passes the rest", "harmless calls pass"),
    ("captures a turn", "captures a turn"),
    ("removal", "removal"),
)
Outcome = Mapping[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Write the pages; 0."""
    if arguments:
        KEPT.write_text(Path(arguments[0]).read_text())
    PAGE.write_text(page())
    AGENTS.write_text(put_table(AGENTS, list_means()))
    return 0


def page() -> str:
    """The page, with its table as the kept outcomes have it."""
    return put_table(PAGE, _lines())


def put_table(page: Path, lines: Iterable[str]) -> str:
    """The text of a page with some lines between its marks."""
    before, _, rest = page.read_text().partition(f"{MARK}\n")
    return f"{before}{MARK}\n{chr(10).join(lines)}\n{END}{rest.partition(END)[2]}"


def list_means() -> Iterator[str]:
    """The table of all hosts, by what each gets."""
    hosts: dict[str, list[str]] = {}
    for host in HOSTS:
        hosts.setdefault(", ".join(("server", *host.means)), []).append(f"`{host.name}`")
    yield from ("| hosts | get |", "| --- | --- |")
    yield from (f"| {', '.join(names)} | {means} |" for means, names in hosts.items())


def _lines() -> Iterator[str]:
    said = map(json.loads, KEPT.read_text().splitlines())
    # The last word counts: what failed may have been run again.
    outcomes = list({(*_key(one), one["check"]): one for one in said}.values())
    heads = [head for head, _ in COLUMNS]
    yield f"| host | scope | {' | '.join(heads)} | bytes of nine calls | first request, s |"
    yield "| --- " * (len(heads) + 4) + "|"
    notes: list[str] = []
    for host, version, scope in dict.fromkeys(map(_key, outcomes)):
        of_case = [one for one in outcomes if _key(one) == (host, version, scope)]
        cells = [cell(_named(of_case, start), notes) for _, start in COLUMNS]
        measured = [_bytes(of_case), _seconds(of_case)]
        yield f"| {host} {version} | {scope} | {' | '.join((*cells, *measured))} |"
    yield ""
    dates = sorted({one["date"] for one in outcomes})
    days = " and ".join(dates) or "no day"
    yield f"Run on {days}. First request: with us, and without."
    yield from ("", *(f"{number}. {note}" for number, note in enumerate(notes, 1))) if notes else ()


def _key(outcome: Outcome) -> tuple[str, str, str]:
    return outcome["host"], outcome["version"], outcome["scope"]


def _named(outcomes: Iterable[Outcome], start: str) -> list[Outcome]:
    """The outcomes of one column; `ask` alone is the whole name of its check."""
    whole = not start.endswith(" ")
    return [
        one
        for one in outcomes
        if (one["check"] == start if whole else one["check"].startswith(start))
    ]


def cell(outcomes: Sequence[Outcome], notes: list[str]) -> str:
    """Yes, or how many of several held, with the numbers of the notes that say what was seen."""
    if not outcomes:
        return "-"
    held = sum(one["kind"] == "held" for one in outcomes)
    several = f"{held} of {len(outcomes)}"
    said = several if len(outcomes) > 1 else "yes" if held else "no"
    reasons = dict.fromkeys(_note(one) for one in outcomes if one["why"])
    notes += [reason for reason in reasons if reason not in notes]
    numbers = ", ".join(str(notes.index(reason) + 1) for reason in reasons)
    return f"{said} ({numbers})" if numbers else said


def _note(outcome: Outcome) -> str:
    what = outcome["check"].removeprefix("refuses: ")
    words = outcome["why"].replace("|", "\\|").replace("<", "&lt;")
    return f"{what}: {words}"


def _bytes(outcomes: Sequence[Outcome]) -> str:
    measured = next((one for one in outcomes if one["bytes_shown"]), None)
    if measured is None:
        return "-"
    return f"{measured['bytes_shown']:,}{'' if measured['kind'] == 'held' else ' (too many)'}"


def _seconds(outcomes: Sequence[Outcome]) -> str:
    by_check = {one["check"]: one["seconds"] for one in outcomes}
    both = (by_check.get("time with us"), by_check.get("time without us"))
    return ", ".join(f"{one:.1f}" if one is not None else "-" for one in both)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
