"""Standard streams as shells and cron hand them over: closed, full, or left by their reader."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SHOWING = ["--version", "--help", "run --help", "doctor config show", "doctor --install-script"]


def started(line: str, tmp_path, redirections: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m ctxmode {line} {redirections}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "CONTEXT_MODE_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("line", SHOWING)
def test_a_full_disk_is_told(tmp_path, line):
    done = started(line, tmp_path, ">/dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith("context-mode: cannot write: No space left")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("redirections", [">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("line", ["--version", "doctor config show"])
def test_closed_streams_lead_nowhere(tmp_path, line, redirections):
    done = started(line, tmp_path, redirections)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "data" / "logs").exists()  # no defect was written down


@pytest.mark.parametrize("line", SHOWING)
def test_a_reader_may_leave(tmp_path, line):
    done = started(line, tmp_path, "| true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_disk_that_is_full_for_a_runs_output_is_told(tmp_path):
    done = started("run shell -c 'seq 100000'", tmp_path, ">/dev/full")
    assert done.returncode == 1
    assert "No space left" in done.stderr
