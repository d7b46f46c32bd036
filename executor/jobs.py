"""From a checked request to what a cell is given: a program, or one for a session's interpreter."""

from __future__ import annotations

import os
from functools import partial
from pathlib import PurePath

import runtimes
from executor import network
from executor.interpreter import Program
from executor.placement import Layout
from executor.profile import Profile
from executor.program_job import job_of
from executor.request import Checked
from executor.runner import Job
from executor.session import Call


def job(checked: Checked, candidate: runtimes.Candidate, layout: Layout) -> Job:
    """A program of its own.

    Raises:
        OSError: a script that has to be read can't be.
    """
    request = checked.request
    program = runtimes.prepare(
        candidate,
        code=checked.text if checked.script is None else None,
        script_path=checked.script and layout.inside(checked.script),
        bind_file=checked.bind_file and layout.inside(checked.bind_file),
        job_dir=layout.job,
        scratch_dir=layout.scratch,
        cwd=layout.inside(checked.cwd),
        args=request.args,
    )
    return job_of(
        program,
        candidate,
        layout,
        cwd=layout.inside(checked.cwd),
        limits=checked.limits,
        env=granted_environment(checked.profile) | dict(request.env),
        stdin=request.stdin,
        drain=request.drain,
        artifacts=request.artifacts,
        profile=checked.profile,
        label=label(checked),
    )


def first_line(text: str) -> str:
    """The first line with anything in it, cut to what a table shows."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:60]


def granted_environment(profile: Profile) -> dict[str, str]:
    """The variables that a profile passes through, and those that lead to the proxy."""
    passed = {name: os.environ[name] for name in profile.env if name in os.environ}
    if not profile.network.rules:
        return passed
    proxy = f"http://127.0.0.1:{network.PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
    local = "localhost,127.0.0.1,::1"
    # NODE_USE_ENV_PROXY: node obeys the others only when told to.
    return passed | dict.fromkeys(names, proxy) | {"NO_PROXY": local, "NODE_USE_ENV_PROXY": "1"}


def session_call(checked: Checked, candidate: runtimes.Candidate) -> Call:
    """A program for a session: for an interpreter that lives on, where the language has one."""
    request = checked.request
    driver = runtimes.driver(candidate, interactive=request.interactive)
    name = candidate.toolchain.name
    return Call(
        interpreter=f"{name}, interactive" if request.interactive else name,
        make_job=partial(_interpreter if driver else job, checked, candidate),
        program=partial(_program, checked, driver) if driver else None,
        limits=checked.limits,
        profile=checked.profile,
        env=request.env,
        artifacts=request.artifacts,
        cwd=checked.cwd,
        label=label(checked),
        limits_given=request.limits is not None,
        language=checked.language.name,
    )


def _interpreter(checked: Checked, candidate: runtimes.Candidate, layout: Layout) -> Job:
    program = runtimes.driver_program(
        candidate,
        job_dir=layout.job,
        scratch_dir=layout.scratch,
        cwd=checked.cwd,
        interactive=checked.request.interactive,
    )
    return job_of(
        program,
        candidate,
        layout,
        cwd=checked.cwd,
        limits=checked.limits,
        env=granted_environment(checked.profile) | dict(checked.request.env),
        profile=checked.profile,
    )


def _program(checked: Checked, driver: runtimes.Driver, job_folder: str, number: int) -> Program:
    source = PurePath(checked.language.source_name)
    return Program(
        code=driver.rewrite(checked.text),
        name=checked.script or f"{job_folder}/{source.stem}-{number}{source.suffix}",
        folder=checked.cwd if checked.request.cwd is not None else "",
        bound=checked.bind_file or "",
        args=checked.request.args,
    )


def label(checked: Checked) -> str:
    """What a program is called while it runs."""
    return f"{checked.language.name}: {checked.script or first_line(checked.text)}"
