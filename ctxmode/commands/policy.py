"""The verb `policy`: ask what the rules say of a program, list them, try them, read the log."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from rich.table import Table
from rich.text import Text

import policy
from ctxmode import crash_report, exit_codes
from ctxmode.config.rules import load as load_rules
from ctxmode.errors import ContextModeError, UsageError, translate_errors, why
from ctxmode.operations import audit
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render import terminal
from ctxmode.render.highlight import harmless, one_line
from ctxmode.render.results import with_lines
from ctxmode.render.terminal_output import for_stdout
from policy import (
    ADDRESS_RULE,
    CaseResult,
    Explanation,
    Match,
    Rule,
    Rules,
    Surface,
    Verdict,
    count_by_tag,
    in_time,
)
from runtimes import UnknownLanguage, completion, language, language_for_file

SURFACES: dict[str, Surface] = {"agent": "agent_shell", "sandbox": "sandbox"}

# Where a program of a language would run if nothing else is said; others run in the sandbox.
USUAL_SURFACES: dict[str, Surface] = {"shell": "agent_shell"}

Program: TypeAlias = Annotated[str | None, Arg("- is stdin", "CODE|FILE|-")]
Lang: TypeAlias = Annotated[
    str | None, Arg("language (default: by file name, else shell)", "LANGUAGE")
]
SurfaceName: TypeAlias = Annotated[
    Literal["agent", "sandbox"] | None,
    Arg("the agent's shell or the sandbox (default: by language)"),
]
RuleFile: TypeAlias = Annotated[str | None, Arg("use only this rule file", "FILE")]


class Code(str):
    """The text of a program, which is never the name of a file."""

    __slots__ = ()


def adjust(parsed: argparse.Namespace) -> None:
    """Take a program after `--`."""
    if parsed.program_args:
        if getattr(parsed, "program", None) is not None or len(parsed.program_args) > 1:
            raise _need_program()
        parsed.program = Code(parsed.program_args[0])


def check_program(
    asker: Asker,
    program: Program = None,
    *,
    lang: Lang = None,
    surface: SurfaceName = None,
    rules: RuleFile = None,
) -> Answer:
    """Check whether a program may run."""
    subject, loaded = _build_subject(asker, program, lang, surface), _load(asker, rules)
    judge = partial(policy.judge, rules=loaded)
    (verdict,) = in_time([subject], loaded, judge, crash_report.report, policy.Verdict)
    data = {"language": subject.language, **verdict.to_json()}
    code = exit_codes.BY_DECISION[verdict.decision.word]
    return Answer(data, for_stdout(_write_verdict(verdict)), code=code)


def explain_program(
    asker: Asker,
    program: Program = None,
    *,
    lang: Lang = None,
    surface: SurfaceName = None,
    rules: RuleFile = None,
) -> Answer:
    """Show the steps from a program to its verdict."""
    subject, loaded = _build_subject(asker, program, lang, surface), _load(asker, rules)
    explain = partial(policy.explain, rules=loaded)
    (found,) = in_time([subject], loaded, explain, crash_report.report, policy.Explanation)
    if isinstance(found, policy.Verdict):  # there was no time for the steps
        found = policy.Explanation((), found, subject.code)
    data = _build_explanation(subject.language, found)
    code = exit_codes.BY_DECISION[found.verdict.decision.word]
    return Answer(data, for_stdout(found.to_text()), code=code)


def list_rules(asker: Asker, *, rules: RuleFile = None) -> Answer:
    """List every rule in force and where it is written."""
    loaded = _load(asker, rules)
    show = partial(_show_rules, loaded)
    return Answer(_build_rules(loaded), show=show)


def run_table(
    asker: Asker,
    file: Annotated[str, Arg("the cases; - is stdin", "FILE.tsv|-")],
    *,
    rules: Annotated[str, Arg("use only this rule file", "FILE")],
) -> Answer:
    """Try a table of cases: language, code, expected, reason, tab-separated."""
    project = asker.config.project if asker.config.project_is_given else None
    cases = Path("/dev/stdin" if file == "-" else file)
    try:
        with translate_errors():
            results = policy.run_cases(
                cases, Path(rules), project, crash_report.report, _complete_snippet
            )
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read: {why(error)}", "Give a table of cases."
        ) from error
    data = {"rows": [case.to_json(verdict) for case, verdict in results]}
    are_right = all(case.is_right(verdict) for case, verdict in results)
    show = partial(_show_results, results)
    return Answer(data, show=show, is_failure=not are_right)


def show_log(asker: Asker) -> Answer:
    """Show the verdicts that were given, secrets masked."""
    folder = asker.config.log_dir
    try:
        entries = list(audit.read_entries(folder))
    except OSError as error:
        raise ContextModeError(f"{folder} cannot be read: {why(error)}") from error
    return Answer({"entries": entries}, show=partial(_show_log, entries))


OPERATIONS: dict[str, Operation] = {
    "check": check_program,
    "explain": explain_program,
    "list": list_rules,
    "test": run_table,
    "log": show_log,
}


def _load(asker: Asker, rules: str | None) -> policy.Rules:
    config = asker.config
    with translate_errors():
        if rules is not None:
            return policy.load_file(Path(rules), project=config.project, home=config.home)
        return load_rules(config.project, config.home)


def _build_subject(
    asker: Asker, program: str | None, lang: str | None, surface: str | None
) -> policy.Subject:
    code, path = _read_program(program)
    name = _language(lang, path)
    return policy.Subject(
        language=name,
        code=code,
        cwd=str(Path.cwd()),
        project=str(asker.config.project),
        home=str(asker.config.home),
        env=dict(os.environ),
        surface=SURFACES[surface] if surface else USUAL_SURFACES.get(name, "sandbox"),
        complete=completion(language(name), is_script=path is not None),
    )


def _complete_snippet(name: str) -> policy.Complete | None:
    try:
        return completion(language(name), is_script=False)
    except UnknownLanguage:
        return None


def _need_program() -> UsageError:
    return UsageError("one program is needed", "Give it as one word in quotes, a file, or -.")


def _read_program(given: str | None) -> tuple[str, Path | None]:
    """Read the program's text; return its file too, if it has one."""
    if given is None:
        raise _need_program()
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), None
    path = Path(given)
    if isinstance(given, Code) or not _is_file(path):
        return given, None
    try:
        return path.read_text(encoding="utf-8", errors="replace"), path
    except OSError as error:
        raise UsageError(f"{given!r} cannot be read: {why(error)}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False  # a program: too long for a name, or with NUL in it


def _language(given: str | None, path: Path | None) -> str:
    try:
        if given is not None:
            return language(given).name
        return language_for_file(path).name if path else "shell"
    except (UnknownLanguage, OSError) as error:
        raise UsageError(str(error), "Say it: --lang LANGUAGE") from error


COLOURS = {"allow": "green", "ask": "yellow", "redirect": "cyan", "deny": "red"}


def _write_verdict(verdict: Verdict) -> str:
    """Write the decision, the deciding rule, and as many other rules as fit."""
    lines = [f"  understood: {verdict.coverage}"] if verdict.coverage != "full" else []
    lines += [f"  {_match_line(match)}" for match in verdict.matches]
    return with_lines(verdict.message, lines)


def _match_line(match: Match) -> str:
    words = " ".join(match.argv) or match.text
    return f"{match.decision.word} by {match.rule} ({match.source}), {match.kind}: `{words}`"


def _build_explanation(language: str, explanation: Explanation) -> dict[str, Any]:
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


def _build_rules(rules: Rules) -> dict[str, Any]:
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


def _show_rules(rules: Rules) -> None:
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


def _show_results(results: Sequence[CaseResult]) -> None:
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


def _show_log(entries: Sequence[Mapping[str, Any]]) -> None:
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
