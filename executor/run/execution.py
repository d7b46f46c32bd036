"""A program on its way into a box of its own, compiled there or beforehand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

import runtimes
from executor import network
from executor.engine.engine import Completed, Observe, OnOutput
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.model import Limits, Usage
from executor.profile import Profile, ProjectAccess
from executor.request import Checked
from executor.run.program_job import job_of
from executor.run.runner import Runner

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


LEAST_S = 0.001


@dataclass(frozen=True, slots=True)
class Execution:
    """A checked request with the toolchain that was chosen for it.

    `shown` is what its box sees of toolchains' caches, `packages` of packages. Where the program
    was compiled by itself, `products` are the files that this gave, and `spent` is what it took of
    the request's limits.
    """

    checked: Checked
    candidate: runtimes.Candidate
    shown: tuple[tuple[str, str], ...]
    on_output: OnOutput | None = None
    observe: Observe | None = None
    packages: tuple[tuple[str, str], ...] = ()
    products: Mapping[str, bytes] | None = None
    diagnosis: bytes = b""  # what the compiler said of them
    spent: Usage | None = None

    async def start(self, runner: Runner) -> Completed:
        """Run it, unless in the background in its turn. Cancelling ends all of it.

        Raises:
            RequestError, SandboxUnavailableError, OSError: see `Runner.run`.
        """
        return await runner.run(
            self.job,
            self.on_output,
            profile=self.checked.profile,
            waits=not self.checked.request.background,
            observe=self.observe,
        )

    def job(self, layout: Layout) -> Job:
        """What a box of this layout is given.

        Raises:
            OSError: a script that has to be read can't be.
        """
        job = make_job(self.checked, self.candidate, layout, shown=(*self.shown, *self.packages))
        limits = job.limits if self.spent is None else subtract(job.limits, self.spent)
        if self.products is None:
            return replace(job, limits=limits)
        return replace(
            job,
            steps=tuple(step for step in job.steps if step.phase == "run"),
            files={**job.files, **self.products},
            shown=self.packages,
            diagnosis=self.diagnosis,
            limits=limits,
            whole=job.limits,
        )


def subtract(limits: Limits, spent: Usage) -> Limits:
    """What is left of the time once compiling has taken its share."""
    return replace(
        limits,
        wall_s=max(LEAST_S, limits.wall_s - spent.wall_s),
        cpu_s=max(LEAST_S, limits.cpu_s - spent.cpu_s),
    )
