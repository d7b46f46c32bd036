"""What a server and its judging processes tell each other, pickled."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from policy.model import Subject
from policy.rules import Rules


class JudgeRequest(NamedTuple):
    """What `judge` takes; without rules those of the question before hold."""

    subject: Subject
    rules: Rules | None
    tools: Collection[str] | None


class Defect(NamedTuple):
    """What was raised instead of a verdict, by its name and with its story."""

    name: str
    story: str
