"""Which commits became which when erasing wrote the history anew: drafts name the old ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from base.whole_files import replace_file
from memory.pages.repository import Repository

FILE = "context-mode-rewritten"
_LINE = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}|-)")
_BYTES_MAX = 64 << 20


def read_rewritten(repository: Repository) -> dict[str, str]:
    """Return what became of commits that are no more; empty of one that nothing is left of."""
    found: dict[str, str] = {}
    with suppress(OSError), open(repository.folder / FILE, "rb") as file:
        for line in file.read(_BYTES_MAX).decode("ascii", "replace").splitlines():
            match = _LINE.fullmatch(line)
            if match:
                found[match[1]] = "" if match[2] == "-" else match[2]
    return found


def add_rewritten(repository: Repository, changes: Mapping[str, str]) -> None:
    """Keep what became of commits, also of those that were written anew before.

    Raises:
        OSError: it cannot be written.
    """
    old = read_rewritten(repository)
    joined = {before: changes.get(after, after) for before, after in old.items()}
    joined.update({before: after for before, after in changes.items() if before != after})
    lines = [f"{before} {after or '-'}\n" for before, after in sorted(joined.items())]
    replace_file(repository.folder / FILE, "".join(lines).encode())


def follow_rewritten(parent: str, rewritten: Mapping[str, str]) -> str:
    """Return what a commit is named now; the draft of one that is no more has no parent."""
    if parent in rewritten:
        return rewritten[parent]
    if rewritten and len(parent) < 40:
        full = [after for before, after in rewritten.items() if before.startswith(parent)]
        return full[0] if len(full) == 1 else parent
    return parent
