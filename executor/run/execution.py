"""A program on its way into a box of its own, compiled there or beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import runtimes
from executor.engine.engine import Completed, Observe, OnOutput
from executor.engine.job import Job
from executor.engine.layout import Layout
from executor.model import Limits, Usage
from executor.request import Checked
from executor.run.job import make_job
from executor.run.runner import Runner

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
