"""Attacks of the table against containers: of each theme some, as the whole takes minutes.

All of them: `pytest tests/escapes/test_attacks.py -m "not tier_a" --isolation container`, with
`--runtime runsc` for gVisor.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.escapes.table import ATTACKS

pytestmark = pytest.mark.xdist_group("containers")

ROOT = Path(__file__).parents[3]
DEADLINE_S = 900
CHOSEN = (
    *("A3", "A6", "A16", "A18"),  # limits, streams
    *("A27", "A29", "A30", "A33", "A34", "A35", "A44"),  # processes, kernel
    *("A55", "A56", "A59", "A59 project", "A60", "A64"),  # results, secrets, protected paths
    *("A71", "A74", "A77", "A84"),  # leftovers, network, a killed server
)


# With gVisor's kernel, where each takes twice as long.
CHOSEN_OF_GVISOR = ("A3", "A30", "A38", "A49", "A55", "A59", "A61", "A74", "A84", "X07")


def test_the_chosen_are_of_the_table():
    assert {*CHOSEN, *CHOSEN_OF_GVISOR} <= {attack.id for attack in ATTACKS}


@pytest.mark.parametrize(("runtime", "chosen"), [("", CHOSEN), ("runsc", CHOSEN_OF_GVISOR)])
def test_chosen_attacks_fail_in_containers_too(engine, runtime: str, chosen: tuple[str, ...]):
    if runtime and runtime not in (engine.info().get("Runtimes") or {}):
        pytest.skip(f"not applicable: the engine has no runtime {runtime}; .ci/engine adds it")
    tests = [f"tests/escapes/test_attacks.py::test_attack[{name}]" for name in chosen]
    dropped = ("PYTEST_", "XDG_", "CONTEXT_MODE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--isolation", "container", "--runtime", runtime, *tests),
        ],
        cwd=ROOT,
        env=kept | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2_000:]
    assert int(passed[1]) >= len(chosen) - 2  # what this machine can't even try is skipped
