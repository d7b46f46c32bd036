"""Whether what is remembered of a project and its user is sound."""

from __future__ import annotations

from dataclasses import dataclass

from base.remedy import type_command
from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError
from ctxmode.operations.facts import open_memory, read_stats


@dataclass(frozen=True, slots=True)
class FactsHealth:
    """How many facts stand, of the project and of the user. `reason` and `remedy` say what is
    amiss."""

    facts: int = 0
    users_facts: int = 0
    reason: str = ""
    remedy: str = ""

    @property
    def summary(self) -> str:
        """Say it in a line."""
        if self.reason:
            return f"not sound: {self.reason}"
        return f"{self.facts} of the project, {self.users_facts} of the user, sound"


def check_facts(config: Config) -> FactsHealth:
    """Verify the files of facts; none is made."""
    try:
        with open_memory(config) as memory:
            found = memory.check()
            for store in memory.stores:
                if problems := found[str(store.path)]:
                    remedy = type_command(store.mended_by)
                    return FactsHealth(reason=f"{store.path}: {problems[0]}", remedy=remedy)
        stats = read_stats(config)
    except ContextModeError as error:
        return FactsHealth(reason=error.message, remedy=error.hint)
    return FactsHealth(stats.facts, stats.users_facts)
