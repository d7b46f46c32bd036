"""Who asks for a run: the tools a rule may redirect to, the consent it may ask, and progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from executor.model import Status

Consent = Callable[[Mapping[str, Any]], Awaitable[bool | None]]
"""Asks a person whether to go on, given the verdict as JSON. None: nobody could be asked."""

Preparing = Callable[[str], AbstractContextManager[object]]
"""Tells a person what is made ready before a program can run, for as long as the block lasts."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`tools` are those that a redirect may name: a caller is never sent to one it lacks.

    `holder` is the name by which the server knows who calls; empty for whoever started it.
    """

    tools: frozenset[str] = frozenset()
    consent: Consent | None = None
    preparing: Preparing = nullcontext
    holder: str = ""

    async def settle(self, verdict: Mapping[str, Any]) -> Mapping[str, Any]:
        """The verdict, and under `consent` what a person said to one that asks."""
        if verdict["decision"] != "ask":
            return verdict
        consent = None if self.consent is None else await self.consent(verdict)
        return {**verdict, "consent": consent}


def refusal(verdict: Mapping[str, Any]) -> Status | None:
    """How a run ends that a settled verdict does not let begin; None if it may begin."""
    if verdict["decision"] == "redirect":
        return Status.REDIRECTED
    if verdict["decision"] == "deny" or (
        verdict["decision"] == "ask" and not verdict.get("consent")
    ):
        return Status.DENIED
    return None
