"""May this run? Parse, match, decide; the verdict is always explained.

    rules = load_rules(project, home=Path.home())
    verdict = judge(Subject("shell", "rm -rf build", cwd=..., home=...), rules)

A guard in front of the sandbox, not the boundary. `judge` follows links and reads the project's
scripts; `evaluate` looks at nothing but what it is given.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from policy.decide import (
    evaluate,
    evaluate_fetch,
    evaluate_read,
    evaluate_search,
    evaluate_tool,
    evaluate_write,
)
from policy.judging import judge
from policy.load import load_file, load_rules, real_path
from policy.matching import RealPath
from policy.model import Decision, Match, Redirect, RuleFileError, Source, Subject, Verdict
from policy.rules import Rule, Rules

if TYPE_CHECKING:
    from policy.cases import CaseReport, run_cases
    from policy.explanation import Explanation, explain
    from policy.hiding import HiddenPaths, hidden_paths

# What no verdict needs is loaded when it is asked for: a hook imports this at every tool call.
_LATER = {
    **dict.fromkeys(("CaseReport", "run_cases"), "policy.cases"),
    **dict.fromkeys(("Explanation", "explain"), "policy.explanation"),
    **dict.fromkeys(("HiddenPaths", "hidden_paths"), "policy.hiding"),
}


def __getattr__(name: str) -> object:
    """Load what is not needed for a verdict at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


__all__ = [
    "CaseReport",
    "Decision",
    "Explanation",
    "HiddenPaths",
    "Match",
    "RealPath",
    "Redirect",
    "Rule",
    "RuleFileError",
    "Rules",
    "Source",
    "Subject",
    "Verdict",
    "evaluate",
    "evaluate_fetch",
    "evaluate_read",
    "evaluate_search",
    "evaluate_tool",
    "evaluate_write",
    "explain",
    "hidden_paths",
    "judge",
    "load_file",
    "load_rules",
    "real_path",
    "run_cases",
]
