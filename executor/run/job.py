"""From a checked request to what a cell is given: a program of its own."""

from __future__ import annotations

import os

import runtimes
from executor import network
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.profile import Profile, ProjectAccess
from executor.request import Checked
from executor.run.program_job import job_of

# `git status` would refresh the index, a change of the repository that nobody asked for.
NO_REFRESH = {"GIT_OPTIONAL_LOCKS": "0"}


def make_job(
    checked: Checked,
    candidate: runtimes.Candidate,
    layout: Layout,
    *,
    shown: tuple[tuple[str, str], ...] = (),
) -> Job:
    """The job of a program that runs in a box of its own; `shown` are further paths in it.

    Raises:
        OSError: a script that has to be read can't be.
    """
    request, candidate = checked.request, layout.place(candidate)
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
        env=grant_environment(checked.profile) | dict(request.env),
        stdin=request.stdin,
        drain=request.drain,
        artifacts=request.artifacts,
        profile=checked.profile,
        label=label(checked),
        shown=shown,
    )


def first_line(text: str) -> str:
    """The first line with anything in it, cut to what a table shows."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:60]


def grant_environment(profile: Profile) -> dict[str, str]:
    """The variables that a profile passes through, and those that lead to the proxy."""
    passed = {name: os.environ[name] for name in profile.env if name in os.environ}
    if profile.project is ProjectAccess.COMMIT:
        passed |= NO_REFRESH
    if not profile.network.rules:
        return passed
    proxy = f"http://127.0.0.1:{network.PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
    local = "localhost,127.0.0.1,::1"
    # NODE_USE_ENV_PROXY: node obeys the others only when told to.
    return passed | dict.fromkeys(names, proxy) | {"NO_PROXY": local, "NODE_USE_ENV_PROXY": "1"}


def label(checked: Checked) -> str:
    """What a program is called while it runs."""
    return f"{checked.language.name}: {checked.script or first_line(checked.text)}"
