"""Terms that hold for every request, and a request as it is judged before it is placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import policy
from executor.engine.engine import Completed, Observe, OnOutput
from executor.model import Limits
from executor.request import Caller, Checked, Profile

if TYPE_CHECKING:
    from executor.packages.model import Wanted

# Called before every run, so that new rules apply while a server runs.
LoadRules = Callable[[], policy.Rules]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of every request."""

    project: Path
    home: Path
    rules: LoadRules | None
    profiles: Mapping[str, Profile]
    limits: Limits


RuleCheck = tuple[policy.Subject, policy.Rules, tuple[policy.Verdict, ...]]
"""A program to judge, the rules, and their verdicts on the files that the program is given."""


@dataclass(frozen=True, slots=True)
class JudgedRequest:
    """A request that may be placed, and the verdict on it; None if no rules apply."""

    checked: Checked
    caller: Caller
    verdict: Mapping[str, Any] | None
    packages: Wanted | None = None
    rules: policy.Rules | None = None


class Elsewhere(Protocol):
    """A sender of runs to other machines."""

    async def place(
        self, judged: JudgedRequest, *, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Run a judged request, here or on another machine.

        Raises:
            RequestError: it can't be run as asked; its hint has the fix.
        """
