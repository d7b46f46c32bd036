"""What tools obey in this project besides the table of names: what links and configuration lead to.

A `.git/hooks` that is a link, a `core.hooksPath`, an `include.path`, a `CLAUDE.md` that is a link to
another file: whoever changes what they lead to changes what is obeyed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from executor.project.judging import NameJudge, Row
from executor.project.record import Record
from executor.repositories import BARE_PARTS, configured


@dataclass(frozen=True)
class Obeyed:
    """The table of names, and what names of it lead to in one project."""

    names: NameJudge
    record: Record

    def judge(self, path: str) -> Row | None:
        """The row of a path, or of a name that leads to it or to a folder above it."""
        if row := self.names.judge(path):
            return row
        places = self._places
        if not places:
            return None
        while path:
            if row := places.get(path):
                return row
            path = path.rpartition("/")[0]
        return None

    def judge_control(self, path: str) -> Row | None:
        """See `NameJudge`."""
        return self.names.judge_control(path)

    @cached_property
    def _places(self) -> Mapping[str, Row]:
        """What names lead to, by its path in the project."""
        places: dict[str, Row] = {}
        for name, target in self._leads():
            row = self.names.judge(name) or self.names.judge_control("hooks")
            inside = self._inside(target)
            if row is not None and inside and inside not in places:
                places[inside] = row
        return places

    def _leads(self) -> Iterator[tuple[str, str]]:
        """Each name that is obeyed and leads elsewhere, and the absolute path to which it does."""
        project = str(self.record.project)
        for path, state in self.record.states.items():
            if stat.S_ISLNK(state.mode) and self.names.judge(path):
                yield path, os.path.realpath(f"{project}/{path}")
        for git in self._repositories():
            for target in configured(self.record.project, git):
                yield f"{git}/config", target
                yield f"{git}/config", os.path.realpath(target)

    def _repositories(self) -> Iterator[str]:
        states = self.record.states
        for path, state in states.items():
            above, _, name = path.rpartition("/")
            if name == ".git" and stat.S_ISDIR(state.mode):
                yield path
            elif name == "HEAD" and any(f"{above}/{part}".lstrip("/") in states for part in BARE_PARTS):
                yield above or "."

    def _inside(self, target: str) -> str:
        """The path in the project; empty for what lies elsewhere, and for the project itself."""
        relative = os.path.relpath(target, self.record.project)
        return "" if relative.startswith("..") or relative == "." else relative
