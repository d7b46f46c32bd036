"""May this run? Parse, match, decide; the verdict is always explained.

    rules = load_rules(project, home=Path.home())
    verdict = judge(Subject("shell", "rm -rf build", cwd=..., home=...), rules)

A guard in front of the sandbox, not the boundary. `judge` follows links and reads the project's
scripts; `evaluate` looks at nothing but what it is given.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.cases import CaseReport, run_cases
    from policy.decide import (
        evaluate,
        evaluate_fetch,
        evaluate_read,
        evaluate_search,
        evaluate_tool,
        evaluate_write,
    )
    from policy.explanation import Explanation, explain
    from policy.hiding import HiddenPaths, hidden_paths
    from policy.judging import judge
    from policy.load import load_file, load_rules, real_path
    from policy.matching import RealPath
    from policy.model import Decision, Match, Redirect, RuleFileError, Source, Subject, Verdict
    from policy.rules import Rule, Rules

# Each is loaded when it is asked for: of a hook at every tool call, only a child judges.
_MODULES = {
    "cases": "CaseReport run_cases",
    "decide": "evaluate evaluate_fetch evaluate_read evaluate_search evaluate_tool evaluate_write",
    "explanation": "Explanation explain",
    "hiding": "HiddenPaths hidden_paths",
    "judging": "judge",
    "load": "load_file load_rules real_path",
    "matching": "RealPath",
    "model": "Decision Match Redirect RuleFileError Source Subject Verdict",
    "rules": "Rule Rules",
}


def __getattr__(name: str) -> object:
    """Load what has this name at its first use."""
    for module, names in _MODULES.items():
        if name in names.split():
            found = getattr(importlib.import_module(f"policy.{module}"), name)
            return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CaseReport", "Decision", "Explanation", "HiddenPaths", "Match", "RealPath", "Redirect", "Rule",
    "RuleFileError", "Rules", "Source", "Subject", "Verdict", "evaluate", "evaluate_fetch",
    "evaluate_read", "evaluate_search", "evaluate_tool", "evaluate_write", "explain",
    "hidden_paths", "judge", "load_file", "load_rules", "real_path", "run_cases",
]  # fmt: skip
