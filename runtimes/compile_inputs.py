"""Whether compiling a source depends on more than its text: see `CompileInputs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from runtimes.model import CompileInputs


def reaches(inputs: CompileInputs, text: str) -> bool:
    """Whether a source text may reach for further files, or the time.

    As it is, too: what looks like a comment may stand in a string.
    """
    joined = re.sub(inputs.joins, "", text)
    spellings = (text, joined, re.sub(inputs.blanks, " ", joined, flags=re.DOTALL))
    return any(
        re.search(inputs.reaches, spelling)
        or not inputs.known.issuperset(re.findall(inputs.names, spelling))
        for spelling in spellings
    )


def heeds(inputs: CompileInputs, folders: Iterable[Path], *, except_for: str | None) -> bool:
    """Whether one of the folders holds a file that compiling takes notice of."""
    return any(
        str(path) != except_for
        for folder in folders
        for pattern in inputs.beside
        for path in folder.glob(pattern)
    )
