"""`./check`: what it chooses, how it fails, and that it ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests import check

S_MAX = 120


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=check.ROOT,
        capture_output=True,
        text=True,
        timeout=S_MAX,
        check=False,
    )


def test_the_chosen_tests_are_listed_and_not_run():
    done = run("tests.check", "--list", "--seconds", "5", "kb/ranking.py")
    assert done.returncode == 0, done.stderr
    assert "tests/kb/test_" in done.stdout
    assert "Left out, ./run-tests runs them: " in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kb/nothing.py"], "cannot read kb/nothing.py: no such file\n"),
        (["/usr/bin/env"], "cannot check /usr/bin/env: outside of the checkout\n"),
        (["--since", "no-such-revision"], "git diff: fatal: "),
    ],
)
def test_what_cannot_be_checked_is_refused_with_what_to_type(arguments, said):
    done = run("tests.check", "--list", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.splitlines()[-1].endswith((".", "..."))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo fine", ""),
        ("echo wrong; exit 1", "wrong"),
        ("exec sleep 1000", "takes longer than"),
    ],
)
def test_a_step_that_fails_or_hangs_is_shown(capfd, monkeypatch, tmp_path, script, said):
    (tmp_path / "tool").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setattr(check, "BIN", tmp_path)
    assert check.finish(check.start("tool"), 0.5 if "sleep" in script else S_MAX) == (said == "")
    out = capfd.readouterr().out
    assert said in out
    assert bool(said) == bool(out)


@pytest.mark.parametrize("seconds", [0, S_MAX])
def test_no_test_begins_once_the_time_is_over(monkeypatch, tmp_path, seconds):
    test = "tests/structure/test_needs.py"
    plan = {"changed": [], "slowness": 1.0, "until": time.monotonic() + seconds}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    monkeypatch.setenv("CTXMODE_CHECK", str(tmp_path))
    done = run("pytest", "-q", "-p", "tests.chosen", test)
    assert done.returncode == 0, done.stdout
    assert ("No time was left for 5 tests" in done.stdout) == (seconds == 0)
    assert (test in json.loads((tmp_path / "seconds.json").read_text())) == (seconds > 0)
