"""Runs the hello programs of languages, here and now: what checks an image when it has been made.

Started by its path in a container, with the languages' names as arguments; prints one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import runtimes

DEADLINE_S = 120.0
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
OUTPUT_CHARACTERS = 2000


def check(language: str) -> list[dict[str, object]]:
    """Check each toolchain of a language that is on this disk."""
    row = runtimes.language(language)
    found, _ = runtimes.discover(row, SYSTEM_PATH, None, Path("/nonexistent"))
    return [attempt(candidate) for candidate in found]


def attempt(candidate: runtimes.Candidate) -> dict[str, object]:
    """Run one hello program: how long it took, or what it said instead."""
    with tempfile.TemporaryDirectory() as folder:
        started_s = time.monotonic()
        output = run_hello(candidate, Path(folder))
        took_ms = round((time.monotonic() - started_s) * 1000, 1)
    ran = output == candidate.language.hello_output
    return {
        "toolchain": candidate.toolchain.name,
        "path": candidate.path,
        "runs": ran,
        "start_ms": took_ms if ran else None,
        "output": "" if ran else output[-OUTPUT_CHARACTERS:],
    }


def run_hello(candidate: runtimes.Candidate, folder: Path) -> str:
    """Return the hello program's output; if a step fails, the steps' output on both streams."""
    job, scratch, home = folder / "job", folder / "scratch", folder / "home"
    for path in (job, scratch, home):
        path.mkdir()
    program = runtimes.prepare(
        candidate,
        code=candidate.language.hello,
        job_dir=str(job),
        scratch_dir=str(scratch),
        cwd=str(folder),
    )
    for name, content in program.files.items():
        (job / name).write_bytes(content)
    for name, target in program.links.items():
        (job / name).symlink_to(target)
    path_entries = dict.fromkeys((*candidate.path_entries, *SYSTEM_PATH))
    places = {"PATH": ":".join(path_entries), "HOME": str(home), "TMPDIR": str(scratch)}
    for step in program.steps:
        try:
            done = subprocess.run(
                step.argv,
                cwd=folder,
                env={**places, **program.env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DEADLINE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode(errors="replace")
            return f"{step.phase} ended with {done.returncode}\n{said}"
    return done.stdout.decode(errors="replace")


if __name__ == "__main__":
    os.umask(0o022)
    json.dump({name: check(name) for name in sys.argv[1:]}, sys.stdout)
