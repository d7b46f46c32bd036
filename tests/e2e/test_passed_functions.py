"""Distinct functions and files that one use of the house passes, within their budgets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.structure.test_budgets import BUDGETS, judge

ROOT = Path(__file__).parents[2]
PROBE = ROOT / "tests" / "e2e" / "function_probe.py"
S_MAX = 120
# Some calls wait, tidy up or make a box where others do not: what most of them pass counts.
RUNS, COLD_CALLS, WARM_CALLS = 3, 4, 24
PRINT = {"language": "python", "code": "print(1)"}
FIND = {"queries": ["retries"]}


def run_probe(place: Path, *arguments: str, calls: object = ()) -> str:
    """Run a command line under the probe, and return what it prints."""
    project = place / "project"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HOME": str(place),
        "CONTEXT_MODE_DIR": str(place / "data"),
        "CONTEXT_MODE_INSTANCE_SHARED": "off",
        "CONTEXT_MODE_PROJECT_DIR": str(project),
    }
    project.mkdir(exist_ok=True)
    (project / "guide.md").write_text("# Guide\n\n## Retries\n\nA retry waits.\n")
    done = subprocess.run(
        [sys.executable, PROBE, place / "out", json.dumps(calls), *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pass_functions(place: Path, *arguments: str, calls: object = ()) -> list[set[str]]:
    """Return the functions that a command line passes, those of each call if there are any."""
    run_probe(place, *arguments, calls=calls)
    return [set(passed) for passed in json.loads((place / "out").read_text())]


def count(uses: list[set[str]]) -> tuple[int, int]:
    """Return how many functions and files most of the uses pass."""
    times = Counter(name for passed in uses for name in passed)
    usual = [name for name in times if times[name] > len(uses) / 2]
    return len(usual), len({name.partition(":")[0] for name in usual})


def has_all_layers(isolation: dict[str, object]) -> bool:
    """Return whether a run was in tier A, with each layer in force."""
    return isolation["tier"] == "A" and all(one["active"] for one in isolation["layers"].values())


@cache
def measure() -> dict[str, int]:
    """Return the measures by their names among the budgets; none where a run takes another way."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        run = ("run", "python", "-c", "print(1)")
        tried = json.loads(run_probe(place, "run", "--json", *run[1:]))
        if not has_all_layers(tried["result"]["isolation"]):
            return {}
        runs = [*(pass_functions(place, *run)[0] for _ in range(RUNS))]
        calls = [("ctx_execute", PRINT)] * (COLD_CALLS + WARM_CALLS)
        executed = pass_functions(place, "serve", calls=calls)[COLD_CALLS:]
        pass_functions(place, "index", ".")
        calls = [("ctx_search", FIND)] * (COLD_CALLS + WARM_CALLS)
        found = pass_functions(place, "serve", calls=calls)[COLD_CALLS:]
    names = [name for name, budget in BUDGETS.items() if budget.is_of_a_use]
    return dict(zip(names, (*count(runs), *count(executed), *count(found)), strict=True))


@pytest.mark.parametrize("name", [name for name in BUDGETS if BUDGETS[name].is_of_a_use])
def test_a_use_passes_no_more_of_the_house_than_its_budget(name):
    if not measure():
        pytest.skip("not applicable: with other layers of isolation a run takes another way")
    assert judge(name, measure()[name]) == ""
