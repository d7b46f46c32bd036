"""From a checked request to a call of a session: a program for an interpreter that lives on."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import runtimes
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.request import Checked
from executor.run.execution import grant_environment, label, make_job
from executor.run.program_job import job_of
from executor.sessions.interpreter import InterpreterProgram
from executor.sessions.request import SessionRequest

if TYPE_CHECKING:
    from executor.sessions.packages import SessionPackages


def session_call(
    checked: Checked, candidate: runtimes.Candidate, packages: SessionPackages | None = None
) -> SessionRequest:
    """A program for a session: for an interpreter that lives on, where the language has one."""
    request = checked.request
    driver = runtimes.driver(candidate, interactive=request.interactive)
    name = candidate.toolchain.name
    return SessionRequest(
        interpreter=f"{name}, interactive" if request.interactive else name,
        make_job=partial(_interpreter if driver else make_job, checked),
        candidate=candidate,
        program=partial(_program, checked, driver) if driver else None,
        limits=checked.limits,
        profile=checked.profile,
        env=request.env,
        artifacts=request.artifacts,
        cwd=checked.cwd,
        label=label(checked),
        limits_given=request.limits is not None,
        language=checked.language.name,
        packages=packages,
    )


def _interpreter(checked: Checked, candidate: runtimes.Candidate, layout: Layout) -> Job:
    candidate = layout.place(candidate)
    program = runtimes.driver_program(
        candidate,
        job_dir=layout.job,
        scratch_dir=layout.scratch,
        cwd=layout.inside(checked.cwd),
        interactive=checked.request.interactive,
    )
    return job_of(
        program,
        candidate,
        layout,
        cwd=layout.inside(checked.cwd),
        limits=checked.limits,
        env=grant_environment(checked.profile) | dict(checked.request.env),
        profile=checked.profile,
    )


def _program(
    checked: Checked, driver: runtimes.Driver, layout: Layout, number: int
) -> InterpreterProgram:
    source = PurePath(checked.language.source_name)
    name = f"{layout.job}/{source.stem}-{number}{source.suffix}"
    return InterpreterProgram(
        code=driver.rewrite(checked.text),
        name=layout.inside(checked.script) if checked.script else name,
        folder=layout.inside(checked.cwd) if checked.request.cwd is not None else "",
        bound=layout.inside(checked.bind_file) if checked.bind_file else "",
        args=checked.request.args,
    )
