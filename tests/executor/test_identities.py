"""The same tests as other users: an ordinary one, one to whom user namespaces are forbidden, and
root without capabilities."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# In parts of about the same length, so that workers share them.
PARTS = {
    "executor": ("tests/executor", "--ignore=tests/executor/project"),
    "project": ("tests/executor/project",),
    "escapes": ("tests/escapes",),
}
# Which tests make sense for whom; the tests below must not start themselves again.
SELECTED = {
    "ordinary": "sandbox and not once and not view",
    "confined": "sandbox and not once and not tier_a",
}
# What the kernel lets its root do by its number alone, or a user to his own processes and files.
OF_ROOT = """
A27 A28 A29 A30 A31 A32 A38 A49 A57 A58 A59 A60 A91 X02 X03 X08 X09 X84
"""
DEADLINE_S = 1800
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can be it")

pytestmark = pytest.mark.identity


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("who", SELECTED)
def test_the_sandbox_holds_for_other_users_too(who, part):
    if who == "ordinary" and os.geteuid() != 0:
        pytest.skip("not applicable: the tests run as an ordinary user already")
    _test(who, SELECTED[who], PARTS[part])


@needs_root
def test_the_sandbox_holds_for_root_without_capabilities_too():
    attacks = [f"tests/escapes/test_attacks.py::test_attack[{name}]" for name in OF_ROOT.split()]
    _test("bare-root", SELECTED["confined"], attacks)


@needs_root
def test_root_without_capabilities_runs_programs_and_is_told_as_whom(tmp_path: Path):
    code = "id -u; grep CapEff /proc/self/status; cat a; ! { echo x > a; } 2>/dev/null"
    (tmp_path / "a").write_text("a\n")
    command = (ROOT / "context-mode", "run", "--json", "--project", tmp_path, "shell", "-c", code)
    done = _run_as("bare-root", command)
    result = json.loads(done.stdout)["result"]
    layers = result["isolation"]["layers"]
    assert result["stdout"]["head"] == "0\nCapEff:\t0000000000000000\na\n"
    assert (result["status"], result["isolation"]["tier"]) == ("ok", "B")
    assert not layers["id_mapping"]["active"]
    assert layers["id_mapping"]["detail"].startswith("programs run as this root")
    assert re.search("SYS_ADMIN|--user", layers["namespaces"]["remedy"])


def _run_as(who: str, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tests" / "as_identity.py", who, "--", *command],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def _test(who: str, selected: str, tests: Sequence[str]) -> None:
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    done = _run_as(who, (*pytest_, "-m", selected, *tests))
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2_000:]
    assert int(passed[1]) > 10


def _environment() -> dict[str, str]:
    """Without what pytest-xdist tells its workers, and without this user's places."""
    dropped = ("PYTEST_", "XDG_", "CONTEXT_MODE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}
