"""Environments of Python and Conda: what each of their programs starts, and new ones as a whole."""

from __future__ import annotations

import re
from collections.abc import Collection, MutableMapping

from executor.project.rules.names import ChangeVerdict, NameRow, fold
from executor.project.store.manifest import Change, LeftOut
from executor.project.view.record import Record, is_below
from executor.project.view.tree import split

MARKS = ("pyvenv.cfg", "conda-meta")
_AT_TOP = frozenset({"bin", "scripts", "condabin", "pyvenv.cfg"})
# At any depth: what Python loads on its start, and what `conda activate` sets or runs.
_ON_START = re.compile(
    r"(?:^|/)(?:conda-meta/state|[^/]*\.(?:pth|egg-link)|(?:site|user)customize(?:\.[^/]*)?"
    r"|__editable__[^/]*|_virtualenv\.py|(?:de)?activate\.d)(?=/|$)"
)
STARTED = NameRow(
    "bin",
    ChangeVerdict.HELD,
    "of an environment that was there before: it is run by whoever uses it",
)


class Environments:
    """Tells what belongs to an environment that was there, and which ones a run made (`made`)."""

    def __init__(self, record: Record, changes: Collection[Change]) -> None:
        self._states = record.states
        self._known: dict[str, bool] = {}
        marked = (
            split(c.path) for c in changes if c.path.endswith(MARKS) and c.change == "created"
        )
        self.made = [
            folder
            for folder, name in marked
            if name in MARKS and folder and not self._was_there(folder)
        ]

    def judge(self, path: str) -> NameRow | None:
        """Return the row of what runs whenever an environment that was there is used."""
        parts = path.split("/")
        names = [*map(fold, parts)]
        text = "/".join(names)
        ends = [found.start() + 1 for found in _ON_START.finditer(text)]
        last = text.count("/", 0, ends[-1]) if ends else -1
        for at, name in enumerate(names):
            if (name in _AT_TOP or at <= last) and self._was_there("/".join(parts[:at])):
                return STARTED
        return None

    def leave_torn(
        self, changes: Collection[Change], left: MutableMapping[str, LeftOut | None]
    ) -> None:
        """Leave whole environments that the run made, if anything of them is left out."""
        for top in self.made:
            below = [change.path for change in changes if is_below(change.path, {top})]
            first = next(filter(None, map(left.get, below)), None)
            if first is not None:
                left.update(dict.fromkeys(below))
                why = f"an environment comes as a whole, and {first.path}: {first.reason}"
                left[top] = LeftOut(top, why, "held")

    def _was_there(self, folder: str) -> bool:
        """Return whether a folder was an environment when the view began."""
        known = self._known.get(folder)
        if known is None:
            known = any(f"{folder}/{mark}".lstrip("/") in self._states for mark in MARKS)
            self._known[folder] = known
        return known
