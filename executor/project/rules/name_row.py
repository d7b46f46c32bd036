"""One row of the tables of names: a name, what obeys it, and whether a run's change to it stays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

COMMIT = "commit"  # what a user may say besides the verdicts


class ChangeVerdict(StrEnum):
    """What becomes of a run's change: it is never committed, or held until a person takes it."""

    NEVER = "never"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name that some tool obeys.

    `pattern` is one name, or several with slashes between; a star stands for any text within one.
    It means what bears that name and all below it. `obeyed_by` says what obeys it, and when.
    `anywhere` is at any depth, else at the project's top alone. `in_packages` is also below the
    folders of installed packages: no tool looks for most names there, and packages ship them.
    """

    pattern: str
    verdict: ChangeVerdict
    obeyed_by: str
    anywhere: bool = True
    in_packages: bool = False


def refuse(by: str, patterns: str, *, in_packages: bool = False) -> tuple[NameRow, ...]:
    """A row for each name, with white space between, that is obeyed without a person's act."""
    return tuple(
        NameRow(p, ChangeVerdict.NEVER, by, in_packages=in_packages) for p in patterns.split()
    )


def hold(by: str, patterns: str, *, anywhere: bool = True) -> tuple[NameRow, ...]:
    """A row for each name, with white space between, that a person has to look at first."""
    return tuple(NameRow(p, ChangeVerdict.HELD, by, anywhere=anywhere) for p in patterns.split())
