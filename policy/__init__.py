"""May this run? Parse, match, decide: pure functions; the verdict is always explained.

    rules = load_rules(project, home=Path.home())
    verdict = evaluate(Subject("shell", "rm -rf build", cwd=..., home=...), rules)

A guard in front of the sandbox, not the boundary.
"""

from policy.cases import CaseReport, run_cases
from policy.decide import evaluate, evaluate_fetch, evaluate_read, evaluate_tool, evaluate_write
from policy.explain import explain
from policy.load import load_file, load_rules, real_path
from policy.model import Decision, Match, Redirect, RuleFileError, Source, Subject, Verdict
from policy.rules import Rule, Rules

__all__ = [
    "CaseReport",
    "Decision",
    "Match",
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
    "evaluate_tool",
    "evaluate_write",
    "explain",
    "load_file",
    "load_rules",
    "real_path",
    "run_cases",
]
