"""Links and environments that a run made: the targets, and the programs that they start."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Collection, MutableMapping, Sequence

from executor.model import LeftOut
from executor.project.rules.names import ChangeVerdict, NameRow, fold
from executor.project.store.manifest import Change
from executor.project.view.record import Record, is_below
from executor.project.view.tree import split

MARKS = ("pyvenv.cfg", "conda-meta")
_AT_TOP = frozenset({"bin", "scripts", "condabin", "pyvenv.cfg"})
# At any depth: files that Python loads when it starts, and those that `conda activate` uses.
_ON_START = re.compile(
    r"(?:^|/)(?:conda-meta/state|[^/]*\.(?:pth|egg-link)|(?:site|user)customize(?:\.[^/]*)?"
    r"|__editable__[^/]*|_virtualenv\.py|(?:de)?activate\.d)(?=/|$)"
)
STARTED = NameRow(
    "bin",
    ChangeVerdict.HELD,
    "part of an earlier environment: it runs whenever that is used",
)


class Environments:
    """Finds files of earlier environments, and environments that a run made (`made`)."""

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
        """Return the row for a path that runs whenever an earlier environment is used."""
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
        """Leave out whole environments that the run made, if any of their files is left out."""
        for top in self.made:
            below = [change.path for change in changes if is_below(change.path, {top})]
            first = next(filter(None, map(left.get, below)), None)
            if first is not None:
                left.update(dict.fromkeys(below))
                why = f"an environment is committed as a whole; {first.path}: {first.reason}"
                left[top] = LeftOut(top, why, "held")

    def _was_there(self, folder: str) -> bool:
        """Return whether a folder was an environment when the view began."""
        known = self._known.get(folder)
        if known is None:
            known = any(f"{folder}/{mark}".lstrip("/") in self._states for mark in MARKS)
            self._known[folder] = known
        return known


HOPS_MAX = 40  # like the kernel's limit
# Every view shows these read-only: no program of a run can have written them.
SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")


class Links:
    """Follows links by name alone: of the project, and of the changes to apply."""

    def __init__(
        self, project: str, link_at: Callable[[str], str | None], shown: Sequence[str]
    ) -> None:
        """Ask `link_at` for the target of a relative path, None if it is not a link."""
        self.project = project
        self.link_at = link_at
        self.trees = [os.path.realpath(tree) for tree in (*SYSTEM_TREES, *shown)]

    def why_refused(self, path: str, target: str) -> str:
        """Return why a link must not be made in the project; "" if it may."""
        if not target or "\0" in target:
            return "it points to nothing"
        if _goes_down_and_up(target):
            # A later run may replace the folder by a link.
            return "its target goes into a folder and out of it again"
        if not self._stays(os.path.dirname(os.path.join(self.project, path)), target):
            return "it points outside the project"
        return ""

    def _stays(self, beside: str, target: str) -> bool:
        """Return whether a link in the folder `beside` points into the project or a shown tree."""
        at = "/" if target.startswith("/") else beside
        left = target.split("/")[::-1]
        hops = 1
        while left:
            name = left.pop()
            if name in ("", "."):
                continue
            at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
            if not self._is_inside(at):
                if self.project.startswith(at.rstrip("/") + "/"):
                    continue  # on the way to it
                return self._is_shown(os.path.join(at, *left[::-1]))
            onward = self.link_at(at[len(self.project) + 1 :])
            if onward is None:
                continue
            hops += 1
            if hops > HOPS_MAX:
                return False
            at = "/" if onward.startswith("/") else os.path.dirname(at)
            left += onward.split("/")[::-1]
        return self._is_inside(at)

    def _is_inside(self, path: str) -> bool:
        return path == self.project or path.startswith(f"{self.project}/")

    def _is_shown(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(real == tree or real.startswith(f"{tree}/") for tree in self.trees)


def _goes_down_and_up(target: str) -> bool:
    """Return whether `..` comes after a name."""
    names = (name for name in target.split("/") if name not in ("", "."))
    return ".." in itertools.dropwhile("..".__eq__, names)
