"""Interpreters that serve several programs, one after the other: the drivers they run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from runtimes.model import Candidate, Driver, Program
from runtimes.program import prepare

_DRIVERS: Final = Path(__file__).parent / "drivers"


def driver(candidate: Candidate) -> Driver | None:
    """The driver that this toolchain can run, or None: then every program starts anew."""
    found = candidate.language.driver
    return found if found and candidate.toolchain.name in found.toolchains else None


def driver_program(candidate: Candidate, *, job_dir: str, scratch_dir: str, cwd: str) -> Program:
    """What to place and to start so that the candidate's interpreter serves programs.

    Raises:
        ValueError: the candidate has no driver.
        OSError: the driver's text cannot be read.
    """
    found = driver(candidate)
    if found is None:
        raise ValueError(f"{candidate.toolchain.name} has no driver")
    text = (_DRIVERS / found.file).read_text("utf-8")
    return prepare(candidate, code=text, job_dir=job_dir, scratch_dir=scratch_dir, cwd=cwd)
