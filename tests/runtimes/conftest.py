"""A bare runner for prepared programs: files, links, environment and steps, and no sandbox."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from runtimes.discovery import discover, missing
from runtimes.model import Candidate, Language, Program
from runtimes.program import prepare

DEADLINE_S = 120


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str
    phase: str


def place_and_run(
    program: Program, candidate: Candidate, *, job: Path, scratch: Path, cwd: Path, stdin: bytes
) -> Outcome:
    """Does with a program what its documentation says, in folders of its own."""
    for name, content in program.files.items():
        (job / name).write_bytes(content)
    for name, target in program.links.items():
        (job / name).symlink_to(target)
    job.chmod(0o555)
    home = scratch / "home"
    home.mkdir()
    path = ":".join((*candidate.path_entries, "/usr/local/bin", "/usr/bin", "/bin"))
    env = {"PATH": path, "HOME": str(home), "TMPDIR": str(scratch), **program.env}
    for step in program.steps:
        done = subprocess.run(
            step.argv,
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        if done.returncode:
            break
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), step.phase)


@dataclass(frozen=True)
class Runner:
    """Runs code or a script on one toolchain, in new job and scratch folders every time."""

    candidate: Candidate
    new_folder: Callable[[], Path]
    cwd: Path

    @property
    def name(self) -> str:
        return self.candidate.toolchain.name

    def __call__(
        self,
        code: str | None = None,
        *,
        script: Path | None = None,
        bind_file: Path | None = None,
        args: tuple[str, ...] = (),
        stdin: bytes = b"",
    ) -> Outcome:
        folder = self.new_folder()
        job, scratch = folder / "job", folder / "scratch"
        job.mkdir()
        scratch.mkdir()
        program = prepare(
            self.candidate,
            code=code,
            script_path=None if script is None else str(script),
            bind_file=None if bind_file is None else str(bind_file),
            job_dir=str(job),
            scratch_dir=str(scratch),
            cwd=str(self.cwd),
            args=args,
        )
        return place_and_run(
            program, self.candidate, job=job, scratch=scratch, cwd=self.cwd, stdin=stdin
        )


@cache
def runnable_candidates(language: Language) -> tuple[Candidate, ...]:
    """The first candidate of each toolchain whose hello program runs here."""
    found: dict[str, Candidate] = {}
    search_path = os.environ["PATH"].split(":")
    for candidate in discover(language, search_path, None, Path.home())[0]:
        if candidate.toolchain.name in found:
            continue
        with tempfile.TemporaryDirectory() as folder:
            job, scratch = Path(folder, "job"), Path(folder, "scratch")
            job.mkdir()
            scratch.mkdir()
            program = prepare(
                candidate,
                code=language.hello,
                job_dir=str(job),
                scratch_dir=str(scratch),
                cwd=folder,
            )
            outcome = place_and_run(
                program, candidate, job=job, scratch=scratch, cwd=Path(folder), stdin=b""
            )
            job.chmod(0o755)
        if outcome.exit_code == 0 and outcome.stdout == language.hello_output:
            found[candidate.toolchain.name] = candidate
    return tuple(found.values())


@pytest.fixture
def runners(tmp_path: Path) -> Iterator[Callable[[Language], list[Runner]]]:
    """One runner for each toolchain of a language that runs here; one without any is skipped."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    made: list[Path] = []

    def new_folder() -> Path:
        folder = tmp_path / f"run{len(made)}"
        folder.mkdir()
        made.append(folder)
        return folder

    def of(language: Language) -> list[Runner]:
        candidates = runnable_candidates(language)
        if not candidates:
            reason, hint = missing(language)
            pytest.skip(f"{language.title} does not run here: {reason}; {hint}")
        return [Runner(candidate, new_folder, project) for candidate in candidates]

    yield of
    for folder in made:
        (folder / "job").chmod(0o755)
