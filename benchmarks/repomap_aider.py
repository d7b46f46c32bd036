"""The order of files in aider's repository map, beside the formula's, for the same issues.

aider runs in its own Python, which need not be this one. It sees the files that git tracks, none is
in the chat, and what the task mentions is found by aider's own functions. Its map has 8,000 tokens
of 4 bytes; the order is that of its ranked tags, as far as the map has their files.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.repomap_cases import (
    FORMULA,
    Asked,
    Case,
    Figures,
    Order,
    clone,
    find_repository,
    git,
    measure,
    order_by_formula,
)
from benchmarks.repomap_issues import read_issues
from repomap.store import MapStore

REPOSITORIES = ("pytest-dev/pytest", "psf/requests", "pallets/flask")
TOKENS = 8_000
TIMEOUT_S = 600
_SCRIPT = Path(__file__).with_name("repomap_aider_order.py")


def compare(repos: Path, issues: Path, python: str, count: int) -> None:
    """Print the figures of both, of so many issues chosen by seed 1."""
    chosen = [(name, case) for name in REPOSITORIES for case in read_issues(issues, name)]
    random.Random(1).shuffle(chosen)
    together = Figures()
    for name in REPOSITORIES:
        cases = [case for owner, case in chosen[:count] if owner == name]
        repository = find_repository(repos, name)
        if repository is None or not cases:
            print(f"{name}: not in {repos}, or no cases")
            continue
        figures = _measure(repository, cases, python)
        figures.show(name)
        together.take(figures)
    together.show("together")


def _measure(repository: Path, cases: Sequence[Case], python: str) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        clone(repository, work)
        store = MapStore(Path(folder, "map.sqlite3"))
        orders: Mapping[str, Order] = {
            "aider": lambda _, task: _ask(python, work, task),
            FORMULA: order_by_formula,
        }
        try:
            return measure(work, store, cases, Asked(orders))
        finally:
            store.close()


def _ask(python: str, work: Path, task: str) -> Sequence[str]:
    files = [name for name in git(work, "ls-files", "-z").split("\0") if (work / name).is_file()]
    order = {"root": str(work), "task": task, "files": files, "tokens": TOKENS}
    done = subprocess.run(
        [python, str(_SCRIPT)],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
