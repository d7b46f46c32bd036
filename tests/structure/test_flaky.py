"""A failed test runs once more, alone; only what passes then is forgiven, and it is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE_S = 120
SETTINGS = "[pytest]\naddopts = --strict-markers\nmarkers = xdist_group: as pytest-xdist has it\n"
TESTS = """
import pathlib, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("name", {names})
def test_of(name):
    place = pathlib.Path(name)
    seen = place.read_text() if place.exists() else ""
    place.write_text(seen + "x")
    assert name.startswith("passes") or (name.startswith("races") and seen)
"""


@pytest.mark.parametrize(
    ("names", "exit_code", "flaky"),
    [
        (["passes"], 0, []),
        (["passes", "races"], 0, ["races"]),
        (["fails", "races"], 1, []),
        (["races 1", "races 2", "races 3", "races 4"], 1, []),
    ],
)
def test_what_passes_alone_is_named_and_what_fails_again_has_failed(
    names: list[str],
    exit_code: int,
    flaky: list[str],
    tmp_path: Path,
    pytestconfig: pytest.Config,
):
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.flaky"]\n')
    (tmp_path / "test_made_up.py").write_text(TESTS.format(names=names))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    at_once = ("-n", "2") if pytestconfig.pluginmanager.has_plugin("xdist") else ()
    done = subprocess.run(
        # Its own base, or it would tidy away what earlier runs of pytest left.
        [*(sys.executable, "-m", "pytest", *at_once, "--again"), "--basetemp", tmp_path / "base"],
        cwd=tmp_path,
        env=kept | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    named = [line for line in done.stdout.splitlines() if line.startswith("Flaky")]
    assert done.returncode == exit_code, done.stdout
    assert [line.partition("[")[2].rstrip("]") for line in named] == flaky
