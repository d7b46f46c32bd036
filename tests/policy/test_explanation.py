"""The trace for people: each step, its place underlined, the rules that spoke."""

from __future__ import annotations

from policy import Decision, Rules, Subject, explain
from policy.explanation import underline
from policy.model import Rule, RuleSource


def test_steps_name_effects_nesting_and_rules() -> None:
    rule = Rule(
        "Bash(sudo *)", "command", "Bash(sudo *)", "sudo *", Decision.DENY, RuleSource("s.json", 1)
    )
    text = explain(Subject("shell", "ls; bash -c 'sudo id'"), Rules((rule,))).to_text()
    assert "1. command: 'ls'" in text
    assert "3. command: 'sudo' 'id'   [in bash -c]" in text
    assert "deny by Bash(sudo *) (s.json:1), normalised" in text
    assert text.splitlines()[-2].startswith("=> deny: denied by Bash(sudo *)")


def test_spans_are_underlined_line_by_line() -> None:
    assert underline("ä b\nc d", (3, 6)) == ["ä b", "  ^", "c d", "^"]
