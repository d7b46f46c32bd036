"""Programs that run too long, print too much, or do not start."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from base.bounded_run import (
    BoundedRunError,
    Bounds,
    CannotStartError,
    TookTooLongError,
    TooMuchOutputError,
    run_bounded,
)

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
ROOMY = (60.0, 8 << 20)


def run(script: str, bounds: Bounds = ROOMY, **more):
    return run_bounded(["/bin/sh", "-c", script], bounds, environment=ENVIRONMENT, **more)


@pytest.mark.parametrize(
    ("script", "given", "wanted"),
    [
        ("printf said", b"", (0, b"said", b"")),
        ("printf wrong >&2; exit 3", b"", (3, b"", b"wrong")),
        ("cat", b"given", (0, b"given", b"")),
        ("true", b"x" * (1 << 20), (0, b"", b"")),
        ("kill -9 $$", b"", (-9, b"", b"")),
        ('printf %s "$SECRET"', b"", (0, b"", b"")),
    ],
    ids=["output", "errors", "input", "input-unread", "killed", "environment"],
)
def test_a_program_that_ends_is_told_whole(monkeypatch, script, given, wanted):
    monkeypatch.setenv("SECRET", "1")
    done = run(script, given=given)
    assert (done.returncode, done.stdout, done.stderr) == wanted


def test_much_input_and_output_do_not_wait_for_each_other():
    given = b"0123456789" * 400_000
    assert run("cat", given=given).stdout == given


def test_it_runs_in_the_folder(tmp_path: Path):
    assert run("pwd -P", folder=tmp_path).stdout.decode().strip() == str(tmp_path.resolve())


def test_errors_without_end_are_cut():
    done = run("head -c 1000000 /dev/zero >&2")
    assert done.returncode == 0
    assert 64 * 1024 <= len(done.stderr) < 256 * 1024


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (["/nonexistent/program"], "/"),
        (["/bin/sh", "-c", "a\0b"], "/"),
        (["/bin/sh", "\udc80\ud800"], "/"),
        (["/bin/true"], "/nonexistent"),
        (["/"], "/"),
    ],
    ids=["missing", "nul", "no-unicode", "no-folder", "a-folder"],
)
def test_what_cannot_start_is_told(command, folder):
    with pytest.raises(CannotStartError):
        run_bounded(command, ROOMY, environment=ENVIRONMENT, folder=folder)


def test_output_without_end_is_refused():
    with pytest.raises(TooMuchOutputError):
        run("exec cat /dev/zero", (60.0, 1 << 20))


def assert_is_gone(process: int) -> None:
    state = Path(f"/proc/{process}/stat")
    for _ in range(1000):  # it was killed, and may still have to be told by a busy machine
        try:
            if state.read_text().rpartition(")")[2].split()[0] in "ZX":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)
    pytest.fail("it still runs")


@pytest.mark.parametrize(
    "rest", ["wait", "exit 0"], ids=["it-waits", "it-left-and-its-child-holds-the-output"]
)
def test_at_the_deadline_it_ends_with_what_it_started(tmp_path: Path, rest):
    child = tmp_path / "child"
    with pytest.raises(TookTooLongError):
        run(f"sleep 600 & echo $! > {child}; {rest}", (0.5, 1 << 20))
    assert_is_gone(int(child.read_text()))


def test_no_descriptor_is_inherited(tmp_path: Path):
    with (tmp_path / "open").open("w") as file:
        file.flush()
        listed = "import os; print(sorted(os.listdir('/proc/self/fd')))"
        command = [sys.executable, "-I", "-S", "-c", listed]
        done = run_bounded(command, ROOMY, environment=ENVIRONMENT)
    assert eval(done.stdout) == ["0", "1", "2", "3"]  # the last is that of the list itself


def test_one_family_of_errors_covers_all():
    kinds = (CannotStartError, TookTooLongError, TooMuchOutputError)
    assert all(issubclass(kind, BoundedRunError) for kind in kinds)
