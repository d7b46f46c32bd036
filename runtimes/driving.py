"""Interpreters that serve several programs, one after the other: the drivers they run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from runtimes.model import Candidate, Driver, Language, Program
from runtimes.program import prepare

_DRIVERS: Final = Path(__file__).parent / "drivers"


INTERACTIVE: Final = "interactive"
"""The argument of a driver that serves a person: it shows values, and survives SIGINT."""


def conversing(language: Language) -> tuple[str, ...]:
    """The toolchains that a person is best served by, in that order."""
    return language.conversation.toolchains if language.conversation else ()


def driver(candidate: Candidate, *, interactive: bool = False) -> Driver | None:
    """The driver that this toolchain can run, or None: then every program starts anew."""
    row = candidate.language
    found = row.conversation if interactive else row.driver
    return found if found and candidate.toolchain.name in found.toolchains else None


def driver_program(
    candidate: Candidate,
    *,
    job_dir: str,
    scratch_dir: str,
    cwd: str,
    interactive: bool = False,
) -> Program:
    """What to place and to start so that the candidate's interpreter serves programs.

    Raises:
        ValueError: the candidate has no driver.
        OSError: the driver's text cannot be read.
    """
    found = driver(candidate, interactive=interactive)
    if found is None:
        raise ValueError(f"{candidate.toolchain.name} has no driver")
    text = (_DRIVERS / found.file).read_text("utf-8")
    program = prepare(
        candidate,
        code=text,
        job_dir=job_dir,
        scratch_dir=scratch_dir,
        cwd=cwd,
        args=(INTERACTIVE,) if interactive else (),
    )
    if found.starter:
        start = ("/bin/sh", "-c", (_DRIVERS / found.starter).read_text("utf-8"), found.starter)
        steps = tuple(step._replace(argv=(*start, *step.argv)) for step in program.steps)
        program = program._replace(steps=steps)
    return program._replace(env={**program.env, **found.env})
