"""A prepared program as the sandbox takes it, with the whole environment it will see."""

from __future__ import annotations

from typing import Any

import runtimes
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.model import Limits

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def job_of(
    program: runtimes.Program,
    candidate: runtimes.Candidate,
    layout: Layout,
    *,
    cwd: str,
    limits: Limits,
    **more: Any,  # noqa: ANN401 - further fields of Job
) -> Job:
    """A prepared program as the sandbox takes it, with the whole environment it will see."""
    env = {
        "PATH": ":".join(dict.fromkeys((*candidate.path_entries, *SYSTEM_PATH.split(":")))),
        "HOME": layout.home,
        "TMPDIR": layout.scratch,
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        # The system's own is not shown, and git gives up on a file it may not read.
        "GIT_CONFIG_NOSYSTEM": "1",
    } | dict(program.env)
    extra = more.pop("env", {})
    return Job(
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
