"""What packages a program lacked, by what its error output says: a guess, as any program can print
anything."""

from __future__ import annotations

import re
import sys

from runtimes.packages.registry import ecosystem_of

LINES_MAX = 400  # of what is looked at, the last of them
LINE_CHARACTERS_MAX = 2000
NAMED_MAX = 3
OWN_MODULES = {"python": sys.stdlib_module_names}
"""What comes with a language: where that is missing, no registry has it."""


def find_missing(language: str, text: str) -> tuple[str, ...]:
    """The packages that an error output of a language's program says are not there, by the names
    that `packages` takes. At most three; empty for a language without an ecosystem."""
    row = ecosystem_of(language)
    if row is None or not row.missing:
        return ()
    found: dict[str, None] = {}
    for line in text.splitlines()[-LINES_MAX:]:
        match = re.search(row.missing, line[:LINE_CHARACTERS_MAX])
        named = match and next(filter(None, match.groups()), None)
        if not named or named in OWN_MODULES.get(row.name, ()):
            continue
        package = row.published.get(named, named)
        if re.fullmatch(row.spec, package):
            found[package] = None
    return tuple(found)[:NAMED_MAX]
