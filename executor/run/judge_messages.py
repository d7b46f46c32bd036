"""What a server and its judging processes tell each other, as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from policy.model import Subject, Verdict
from policy.rules import Rules

JudgeAnswer = tuple[Verdict | None, str, str]
"""A verdict; or else what was raised instead, by its name and with its story."""


class JudgeRequest(NamedTuple):
    """What `judge` takes; without rules those of the question before hold."""

    subject: Subject
    rules: Rules | None
    tools: Collection[str] | None


def read_completion(_: type, fields: Any) -> object:  # noqa: ANN401 - as JSON has it
    """Make of its fields what a subject bears besides plain values."""
    from runtimes.program import Completion  # noqa: PLC0415 - few programs bear one

    return Completion(**fields)
