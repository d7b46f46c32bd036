"""The same tests as other users: an ordinary one, and one to whom user namespaces are forbidden."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
DEADLINE_S = 1800

pytestmark = pytest.mark.identity


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("who", SELECTED)
def test_the_sandbox_holds_for_other_users_too(who, part):
    if who == "ordinary" and os.geteuid() != 0:
        pytest.skip("not applicable: the tests run as an ordinary user already")
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "tests" / "as_identity.py", who, "--"),
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-m", SELECTED[who], *PARTS[part]),
        ],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2_000:]
    assert int(passed[1]) > 10


def _environment() -> dict[str, str]:
    """Without what pytest-xdist tells its workers, and without this user's places."""
    dropped = ("PYTEST_", "XDG_", "CONTEXT_MODE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}
