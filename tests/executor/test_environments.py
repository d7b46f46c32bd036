"""What the environments of a project lead to is there for every program, in every tier."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PYTHON = "/usr/bin/python3"
PREFIX = "import os, sys; print(os.path.basename(sys.prefix), sys.prefix != sys.base_prefix)"


@pytest.fixture
def environment(project: Path) -> Path:
    """An environment whose interpreter is the system's; scripts in it name that."""
    if not os.access(PYTHON, os.X_OK):
        pytest.skip(f"no {PYTHON}")
    folder = project / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(PYTHON)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return folder


@pytest.fixture
def real_environment(project: Path) -> None:
    """One with pip, as people make it."""
    command = [PYTHON, "-m", "venv", project / ".venv"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if made.returncode:
        pytest.skip(f"no {PYTHON} -m venv: {made.stdout[-300:]}")


@pytest.fixture
def installation(tmp_path: Path, project: Path) -> Path:
    """An interpreter outside of the system's folders, which the project's environment leads to."""
    folder = tmp_path / "installation"
    (folder / "lib/python3.13").mkdir(parents=True)
    (folder / "lib/python3.13/os.py").touch()
    (folder / "bin").mkdir()
    shutil.copy("/bin/echo", folder / "bin/python3.13")  # a program whose libraries are shown
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/bin/python").symlink_to(folder / "bin/python3.13")
    return folder


@pytest.fixture
def is_environment(request: pytest.FixtureRequest, installation: Path, project: Path) -> bool:
    if request.param:
        (project / ".venv/pyvenv.cfg").write_text(f"home = {installation}/bin\n")
    return bool(request.param)


@pytest.mark.parametrize("profile", ["analyze", "build"])
@pytest.mark.parametrize("is_environment", [True, False], indirect=True)
async def test_a_shell_uses_an_interpreter_outside_of_the_system(is_environment, run, profile):
    result = await run("shell", ".venv/bin/python works", profile=profile)
    assert (result.stdout.head == "works\n") is is_environment


@pytest.mark.parametrize("profile", ["analyze", "build"])
@pytest.mark.parametrize("session", [None, "one"])
@pytest.mark.usefixtures("environment")
async def test_python_runs_in_the_projects_environment(run, profile, session):
    code = "import sys; print(sys.prefix.rpartition('/')[2], sys.base_prefix)"
    result = await run("python", code, profile=profile, session=session)
    assert (result.stdout.head, result.exit_code) == (".venv /usr\n", 0), result.stderr.head


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_scripts_of_an_environment_find_its_interpreter(environment, run, profile):
    script = environment / "bin/tool"
    script.write_text(f"#!{environment}/bin/python\nimport sys\nprint(sys.prefix)\n")
    script.chmod(0o755)
    result = await run("shell", ".venv/bin/tool", profile=profile)
    assert result.stdout.head == f"{environment}\n", result.stderr.head


@pytest.mark.parametrize("profile", ["analyze", "build"])
@pytest.mark.usefixtures("real_environment")
async def test_a_real_environment_works_with_its_programs(run, profile):
    shown = await run("python", PREFIX, profile=profile)
    assert (shown.stdout.head, shown.stderr.head) == (".venv True\n", "")
    pips = ".venv/bin/pip --version && .venv/bin/python -m pip --version"
    result = await run("shell", f".venv/bin/python -c '{PREFIX}' && {pips}", profile=profile)
    assert (result.exit_code, result.stderr.head) == (0, "")
    assert result.stdout.head.startswith(".venv True\npip ")


@pytest.mark.parametrize("profile", ["analyze", "build"])
async def test_an_environment_works_wherever_it_lies_and_by_a_link(
    environment, project: Path, run, profile
):
    """Its secrets stay shut; control: what else is in it is open."""
    inner = project / "back/end/envs/one"
    inner.parent.mkdir(parents=True)
    environment.rename(inner)
    environment.symlink_to(inner)
    (inner / ".env").write_text("opened\n")
    (inner / "plain.txt").write_text("plain\n")
    script = inner / "bin/tool"
    script.write_text(f"#!{inner}/bin/python\nimport sys\nprint(sys.prefix)\n")
    script.chmod(0o755)
    by_link = await run("python", PREFIX, profile=profile)
    assert (by_link.stdout.head, by_link.stderr.head) == (".venv True\n", "")
    code = f"back/end/envs/one/bin/tool; cat {inner}/plain.txt {inner}/.env"
    result = await run("shell", code, profile=profile)
    assert result.stdout.head == f"{inner}\nplain\n", result.stderr.head


async def test_a_secret_in_an_environment_stays_hidden(environment, run):
    for name in (".env", "plain.txt"):
        (environment / name).write_text("opened\n")
    code = f"cat {environment}/.env; cat {environment}/plain.txt"
    result = await run("shell", code, profile="build")
    assert result.stdout.head == "opened\n"
