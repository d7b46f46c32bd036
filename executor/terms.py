"""Terms that hold for every request, and the sender of runs to other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import policy
from executor.engine.engine import Completed, Observe, OnOutput
from executor.model import Limits
from executor.request import CheckedRequest, Profile

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


class Elsewhere(Protocol):
    """A sender of runs to other machines."""

    async def place(
        self, judged: CheckedRequest, *, on_output: OnOutput | None, observe: Observe | None
    ) -> Completed:
        """Run a judged request, here or on another machine.

        Raises:
            RequestError: it can't be run as asked; its hint has the fix.
        """
