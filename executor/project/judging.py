"""What the table of names answers; the table itself is in `names`."""

from __future__ import annotations

from typing import Protocol


class Row(Protocol):
    """One row: `verdict` is a text enumeration of never and held; `obeyed_by` says by what."""

    @property
    def verdict(self) -> str: ...
    @property
    def obeyed_by(self) -> str: ...


class NameJudge(Protocol):
    """Who says which names are never committed, and which only by a person."""

    def judge(self, path: str) -> Row | None:
        """The row of a path in the project, if any."""

    def judge_control(self, path: str) -> Row | None:
        """The row of a path that controls a repository: hooks, configuration and the like."""
