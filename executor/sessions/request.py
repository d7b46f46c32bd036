"""What a call asks of a session: data, and how its program is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import runtimes
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.model import Limits
from executor.profile import Profile
from executor.sessions.interpreter import InterpreterProgram

if TYPE_CHECKING:
    from executor.sessions.packages import SessionPackages


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """One program for a session, as it was asked for.

    `interpreter` is the name of what runs it. `make_job` starts the program, or its interpreter, by
    the `candidate`; then `program` makes what is sent there, out of the layout and the number of
    the call. `packages` are named by the call, where it names any.
    """

    interpreter: str
    candidate: runtimes.Candidate
    make_job: Callable[[runtimes.Candidate, Layout], Job]
    program: Callable[[Layout, int], InterpreterProgram] | None
    limits: Limits
    profile: Profile
    env: Mapping[str, str] = field(default_factory=dict)
    artifacts: tuple[str, ...] = ()
    cwd: str = "/"
    label: str = ""
    limits_given: bool = False
    language: str = ""  # by the name of its row
    packages: SessionPackages | None = None
