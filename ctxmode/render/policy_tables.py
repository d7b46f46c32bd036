"""Rules and verdicts, as tables for users and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from ctxmode.render import terminal
from ctxmode.render.highlight import harmless, one_line
from ctxmode.render.results import with_lines
from policy import (
    ADDRESS_RULE,
    CaseResult,
    Explanation,
    Match,
    Rule,
    Rules,
    Verdict,
    count_by_tag,
)

COLOURS = {"allow": "green", "ask": "yellow", "redirect": "cyan", "deny": "red"}


def verdict_text(verdict: Verdict) -> str:
    """Write the decision, the deciding rule, and as many other rules as fit."""
    lines = [f"  understood: {verdict.coverage}"] if verdict.coverage != "full" else []
    lines += [f"  {_match_line(match)}" for match in verdict.matches]
    return with_lines(verdict.message, lines)


def _match_line(match: Match) -> str:
    words = " ".join(match.argv) or match.text
    return f"{match.decision.word} by {match.rule} ({match.source}), {match.kind}: `{words}`"


def explanation_json(language: str, explanation: Explanation) -> dict[str, Any]:
    """Build the JSON of the steps with their positions, and of the verdict."""
    steps = [
        {
            "what": step.what,
            "detail": step.detail,
            "nesting": list(step.nesting),
            "span": list(step.span),
            "text": step.text,
            "matches": [match.to_json() for match in step.matches],
        }
        for step in explanation.steps
    ]
    verdict = explanation.verdict.to_json() | {"work": explanation.verdict.work}
    return {"language": language, "steps": steps, "verdict": verdict}


def rules_json(rules: Rules) -> dict[str, Any]:
    """Build the JSON of all rules, active or not, and of the warnings."""
    listed = [_rule_json(rule, in_force=True) for rule in _list_in_force(rules)]
    listed += [_rule_json(rule, in_force=False) for rule in rules.untrusted]
    return {
        "default": rules.default.word,
        "files": list(rules.sources),
        "rules": listed,
        "warnings": list(rules.warnings),
    }


def _rule_json(rule: Rule, *, in_force: bool) -> dict[str, Any]:
    return {
        "id": rule.id,
        "decision": rule.decision.word,
        "rule": rule.text,
        "kind": rule.kind,
        "file": rule.source.path,
        "line": rule.source.line,
        "in_force": in_force,
        "reason": rule.reason,
        "advice": rule.advice,
        "redirect": rule.redirect.tool if rule.redirect else None,
    }


def _list_in_force(rules: Rules) -> list[Rule]:
    """List each rule once. A rule reached through a link is loaded from both paths."""
    listed = {(rule.id, rule.text, rule.source): rule for rule in reversed(rules.rules)}
    return [*reversed(listed.values()), ADDRESS_RULE]


def _name_rule(rule: Rule) -> str:
    """Name a rule by its ID, and by its text if that differs."""
    return rule.text if rule.id == rule.text else f"{rule.id} ({rule.text})"


def show_rules(rules: Rules) -> None:
    """Show the rules as a table, strictest first, then warnings about the files."""
    console = terminal.console()
    table = terminal.build_table("decision", "rule", "active", "file")
    for rule in sorted(_list_in_force(rules), key=lambda rule: -rule.decision):
        _add(table, rule.decision.word, _name_rule(rule), "yes", str(rule.source))
    for rule in rules.untrusted:
        _add(table, rule.decision.word, _name_rule(rule), "no: not trusted", str(rule.source))
    console.print(table)
    console.print(f"Anything that no rule matches: {rules.default.word}.")
    console.print(Text(f"Files read: {', '.join(rules.sources) or 'none'}."))
    for warning in rules.warnings:
        console.print(Text(f"warning: {harmless(warning)}", style="yellow"))


def show_results(results: Sequence[CaseResult]) -> None:
    """Show the correct answers by tag, then all misses."""
    console = terminal.console()
    table = terminal.build_table("tag", "correct", "of", "%")
    for tag, (right, total) in count_by_tag(results).items():
        table.add_row(Text(tag or "-"), str(right), str(total), f"{100 * right / total:.1f}")
    console.print(table)
    misses = [(case, verdict) for case, verdict in results if not case.is_right(verdict)]
    for case, verdict in misses:
        console.print(Text(f"line {case.line}, {case.language}: {case.code!r}", style="red"))
        expected = f"  expected {case.expected}, got {verdict.decision.word}"
        console.print(Text(f"{expected}: {verdict.message}\n  {case.reason}"))
    total = len(results)
    console.print(f"{total - len(misses)} of {total} as expected.")


def show_log(entries: Sequence[Mapping[str, Any]]) -> None:
    """Show the verdicts, oldest first."""
    table = terminal.build_table("time", "where", "language", "decision", "rules", "program")
    for one in entries:
        at = datetime.fromtimestamp(float(one.get("time", 0)), UTC).strftime("%Y-%m-%d %H:%M:%S")
        cells = (str(one.get(key, "")) for key in ("surface", "language", "decision"))
        rules = ", ".join(map(str, one.get("rules", ())))
        excerpt = one_line(str(one.get("excerpt", "")))
        table.add_row(at, *map(Text, (*cells, rules, excerpt)))
    terminal.console().print(table if entries else "No verdicts in the log yet.")


def _add(table: Table, decision: str, *cells: str) -> None:
    table.add_row(Text(decision, style=COLOURS[decision]), *map(Text, map(one_line, cells)))
