"""The wheel as a stranger gets it: built, installed into an empty environment, tried there."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("executor", "memory", "policy", "kb", "runtimes", "images", "base")
INSTALL_S_MAX = 600
UNREACHABLE = "No matching distribution found"


def build(into: Path) -> Path:
    """The wheel of these sources, from a copy, so that the checkout stays as it is."""
    source = into / "source"
    left_out = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "tests", "benchmarks")
    shutil.copytree(ROOT, source, ignore=left_out)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into / "dist")],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (wheel,) = (into / "dist").glob("ctxmode-*.whl")
    return wheel


@pytest.fixture
def installed(tmp_path):
    """The folder of commands of an environment that holds the wheel and what it depends on."""
    pytest.importorskip("hatchling")
    wheel = build(tmp_path)
    with ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert tops.isdisjoint(ROOMS)
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    commands = tmp_path / "venv" / "bin"
    done = subprocess.run(
        [str(commands / "python"), "-m", "pip", "install", "--quiet", str(wheel)],
        capture_output=True,
        text=True,
        timeout=INSTALL_S_MAX,
        check=False,
    )
    if UNREACHABLE in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return commands


def test_the_wheel_installs_into_an_empty_environment_and_proves_itself(installed, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    environment = {
        "PATH": f"{installed}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "elsewhere"),
        "CONTEXT_MODE_DIR": str(tmp_path / "data"),
    }

    def run(*arguments):
        return subprocess.run(
            [str(installed / "context-mode"), *arguments],
            capture_output=True,
            cwd=tmp_path / "elsewhere",
            env=environment,
            timeout=240,
            check=False,
        )

    assert run("--version").stdout.startswith(b"context-mode ")
    tried = run("try", "--json")
    assert tried.stdout, tried.stderr
    trial = json.loads(tried.stdout)
    assert (tried.returncode, trial["problems"]) == (0, []), tried.stderr
    ended: list[int] = []
    while not ended:  # the instance that a command starts for the next
        assert run("run", "shell", "-c", "echo hi").stdout == b"hi\n"
        ended = json.loads(run("ps", "stop", "--instance", "--json").stdout)["ended"]
    assert {"shell", "python", "perl"} <= {answer["language"] for answer in trial["answers"]}
