"""A program on its way into a box: its environment, and whether it is compiled there or before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import runtimes
from executor import network
from executor.engine.box import SYSTEM_PATH, Layout, Order
from executor.engine.engine import Completed, Observe, OnOutput
from executor.model import Limits, Usage
from executor.request import CheckedRequest, Profile, ProjectAccess
from executor.run.runner import Runner


def build_order(
    program: runtimes.Program,
    candidate: runtimes.Candidate,
    layout: Layout,
    *,
    cwd: str,
    limits: Limits,
    **more: Any,  # noqa: ANN401 - further fields of Order
) -> Order:
    """Return a prepared program as the sandbox takes it, with its whole environment."""
    env = {
        "PATH": ":".join(dict.fromkeys((*candidate.path_entries, *SYSTEM_PATH.split(":")))),
        "HOME": layout.home,
        "TMPDIR": layout.scratch,
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        # The system's own is not shown, and git fails on a file that it may not read.
        "GIT_CONFIG_NOSYSTEM": "1",
    } | dict(program.env)
    extra = more.pop("env", {})
    return Order(
        steps=program.steps,
        cwd=cwd,
        env=env | dict(extra),
        limits=limits,
        files={f"{layout.job}/{name}": content for name, content in program.files.items()},
        links={f"{layout.job}/{name}": target for name, target in program.links.items()},
        binds=candidate.binds,
        language=candidate.language.name,
        prewarm=program.prewarm,
        **more,
    )


# `git status` would refresh the index, a change of the repository that nobody requested.
NO_REFRESH = {"GIT_OPTIONAL_LOCKS": "0"}


def make_order(
    checked: CheckedRequest,
    candidate: runtimes.Candidate,
    layout: Layout,
    *,
    shown: tuple[tuple[str, str], ...] = (),
    is_driven: bool = False,
) -> Order:
    """Make the order of a program, or of the interpreter that serves it in a session.

    `shown` are additional paths in its box.

    Raises:
        OSError: a script cannot be read.
    """
    request, candidate = checked.request, layout.place(candidate)
    cwd = layout.inside(checked.cwd)
    if is_driven:
        program = runtimes.driver_program(
            candidate,
            job_dir=layout.job,
            scratch_dir=layout.scratch,
            cwd=cwd,
            interactive=request.interactive,
        )
    else:
        program = runtimes.prepare(
            candidate,
            code=checked.text if checked.script is None else None,
            script_path=checked.script and layout.inside(checked.script),
            bind_file=checked.bind_file and layout.inside(checked.bind_file),
            job_dir=layout.job,
            scratch_dir=layout.scratch,
            cwd=cwd,
            args=request.args,
        )
    return build_order(
        program,
        candidate,
        layout,
        cwd=cwd,
        limits=checked.limits,
        env=grant_environment(checked.profile) | dict(request.env),
        stdin=request.stdin,
        drain=request.drain,
        # Those of an interpreter's program are asked for after each call.
        artifacts=() if is_driven else request.artifacts,
        profile=checked.profile,
        label=label(checked),
        shown=shown,
    )


def first_line(text: str) -> str:
    """Return the first line that is not empty, cut to the width of a table."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:60]


client_environ: ContextVar[Mapping[str, str]] = ContextVar("client_environ", default=os.environ)
"""The environment of the command that is worked on; set where a server works for its process."""


def grant_environment(profile: Profile) -> dict[str, str]:
    """Return the variables that a profile passes through, and those of the proxy."""
    environ = client_environ.get()
    passed = {name: environ[name] for name in profile.env if name in environ}
    if profile.project is ProjectAccess.COMMIT:
        passed |= NO_REFRESH
    if not profile.network.rules:
        return passed
    proxy = f"http://127.0.0.1:{network.PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
    local = "localhost,127.0.0.1,::1"
    # NODE_USE_ENV_PROXY: node uses the others only if it is set.
    return passed | dict.fromkeys(names, proxy) | {"NO_PROXY": local, "NODE_USE_ENV_PROXY": "1"}


def label(checked: CheckedRequest) -> str:
    """Return the name of a program for lists of runs."""
    return f"{checked.language.name}: {checked.script or first_line(checked.text)}"


LEAST_S = 0.001


@dataclass(frozen=True, slots=True)
class Execution:
    """A checked request with its chosen toolchain, for a separate box or a session's."""

    checked: CheckedRequest
    candidate: runtimes.Candidate
    shown: tuple[tuple[str, str], ...]  # paths of toolchains' caches that the box shows
    on_output: OnOutput | None = None
    observe: Observe | None = None
    packages: tuple[tuple[str, str], ...] = ()  # paths of packages that the box shows
    products: Mapping[str, bytes] | None = None  # files, if it was compiled separately
    diagnosis: bytes = b""  # the compiler's messages
    spent: Usage | None = None  # the part of the limits that compiling used

    @property
    def driver(self) -> runtimes.Driver | None:
        """Return the driver by which a session's interpreter lives on; None: each call is alone."""
        return runtimes.driver(self.candidate, interactive=self.checked.request.interactive)

    @property
    def interpreter(self) -> str:
        """Return the name of what serves the calls of a session that are like this one."""
        name = self.candidate.toolchain.name
        return f"{name}, interactive" if self.checked.request.interactive else name

    async def start(self, runner: Runner) -> Completed:
        """Run it, or start it in the background. Cancelling ends all of it.

        Raises:
            RequestError, SandboxUnavailableError, OSError: see `Runner.run`.
        """
        request = self.checked.request
        return await runner.run(
            self.job,
            self.on_output,
            profile=self.checked.profile,
            owner=None if request.background else request.owner,
            observe=self.observe,
        )

    def job(self, layout: Layout) -> Order:
        """Make the job for a box of this layout.

        Raises:
            OSError: a script cannot be read.
        """
        job = make_order(self.checked, self.candidate, layout, shown=(*self.shown, *self.packages))
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
    """Return the limits without the time that compiling took."""
    return replace(
        limits,
        wall_s=max(LEAST_S, limits.wall_s - spent.wall_s),
        cpu_s=max(LEAST_S, limits.cpu_s - spent.cpu_s),
    )
