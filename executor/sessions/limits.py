"""What bounds the sessions of a server: data, without what sessions load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How many sessions there may be, how long one may be idle, and how old it may grow."""

    count: int = 8
    idle_s: float = 30 * 60
    life_s: float = 8 * 3600
