"""What the table of names answers; the table itself is in `names`."""

from __future__ import annotations

from typing import Protocol


class ObeyedRow(Protocol):
    """One row: `verdict` is a text enumeration of never and held; `obeyed_by` says by what."""

    @property
    def verdict(self) -> str:
        """Never, or held."""

    @property
    def obeyed_by(self) -> str:
        """What obeys the name, and when."""


class NameJudge(Protocol):
    """Who says which names are never committed, and which only by a person."""

    def judge(self, path: str) -> ObeyedRow | None:
        """The row of a path in the project, if any."""

    def judge_link(self, path: str) -> ObeyedRow | None:
        """The row of a path that is a symbolic link, or of what is obeyed through it."""

    def judge_control(self, path: str, folder: str = ".git") -> ObeyedRow | None:
        """The row of a path inside a repository's own folder, which is of `folder`'s kind."""
