"""Issues as cases: SWE-bench Lite's problem statements, and the files that each fix changed.

The file is a JSON list of objects with `instance_id`, `repo`, `base_commit`, `problem_statement`
and `patch`. The problem statement alone is the task; candidates are all files of the map.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks.repomap_cases import Case, read_changed

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "issues on which the weights were chosen": (
            *("pytest-dev/pytest", "sphinx-doc/sphinx", "psf/requests", "pallets/flask"),
            *("pylint-dev/pylint", "mwaskom/seaborn", "pydata/xarray"),
        ),
        "issues held out": ("sympy/sympy",),
    }
)


def read_issues(file: Path, name: str, count: int = 0) -> list[Case]:
    """Return the issues of one repository, or so many of them, shuffled by seed 1."""
    rows = [one for one in json.loads(file.read_text()) if one["repo"] == name]
    rows.sort(key=lambda one: str(one["instance_id"]))
    if count:
        random.Random(1).shuffle(rows)
    return [
        Case(
            one["instance_id"],
            one["base_commit"],
            one["problem_statement"],
            read_changed(one["patch"]),
        )
        for one in rows[: count or None]
    ]
