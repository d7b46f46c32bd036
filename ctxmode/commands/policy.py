"""The verb `policy`: ask what the rules say of a program, list them, try them, read the log."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import policy
from ctxmode import crash_report, exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.config.rules import load as load_rules
from ctxmode.errors import ContextModeError, UsageError, explain_rule_file, why
from ctxmode.launch import print_answer, print_json
from ctxmode.operations import audit
from ctxmode.render import policy_tables
from ctxmode.render.terminal_output import for_stdout
from policy import Surface, in_time
from runtimes import UnknownLanguage, completion, language, language_for_file

SURFACES: dict[str, Surface] = {"agent": "agent_shell", "sandbox": "sandbox"}

# Where a program of a language would run if nothing else is said; others run in the sandbox.
USUAL_SURFACES: dict[str, Surface] = {"shell": "agent_shell"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (_, help_text) in ACTIONS.items():
        action = actions.add_parser(name, help=help_text, description=help_text, allow_abbrev=False)
        if name in ("check", "explain"):
            _add_program(action)
        if name == "test":
            action.add_argument("file", metavar="FILE.tsv|-", help="the cases; - is stdin")
        if name != "log":
            required = name == "test"
            action.add_argument(
                "--rules", metavar="FILE", required=required, help="use only this rule file"
            )
        action.add_argument("--json", action="store_true", help="print JSON")
        action.add_argument(
            "--project", metavar="DIR", default=argparse.SUPPRESS, help="the project folder"
        )


def _add_program(action: argparse.ArgumentParser) -> None:
    action.add_argument("program", nargs="?", metavar="CODE|FILE|-", help="- is stdin")
    action.add_argument(
        "--lang", metavar="LANGUAGE", help="language (default: by file name, else shell)"
    )
    action.add_argument(
        "--surface",
        choices=SURFACES,
        help="the agent's shell or the sandbox (default: by language)",
    )


def run_verb(args: argparse.Namespace) -> int:
    act, _ = ACTIONS[args.action]
    try:
        return act(args, load_config(args.project))
    except policy.RuleFileError as error:
        raise explain_rule_file(error) from error


def _check(args: argparse.Namespace, config: Config) -> int:
    subject = _subject(args, config)
    rules = _rules(args, config)
    judge = partial(policy.judge, rules=rules)
    (verdict,) = in_time([subject], rules, judge, crash_report.report, policy.Verdict)
    data = {"language": subject.language, **verdict.to_json()}
    print_answer(args, data, for_stdout(policy_tables.verdict_text(verdict)))
    return exit_codes.BY_DECISION[verdict.decision.word]


def _explain(args: argparse.Namespace, config: Config) -> int:
    subject = _subject(args, config)
    rules = _rules(args, config)
    explain = partial(policy.explain, rules=rules)
    (found,) = in_time([subject], rules, explain, crash_report.report, policy.Explanation)
    if isinstance(found, policy.Verdict):  # there was no time for the steps
        found = policy.Explanation((), found, subject.code)
    data = policy_tables.explanation_json(subject.language, found)
    print_answer(args, data, for_stdout(found.to_text()))
    return exit_codes.BY_DECISION[found.verdict.decision.word]


def _list(args: argparse.Namespace, config: Config) -> int:
    rules = _rules(args, config)
    if args.json:
        print_json(policy_tables.rules_json(rules))
    else:
        policy_tables.show_rules(rules)
    return exit_codes.OK


def _test(args: argparse.Namespace, config: Config) -> int:
    project = None if args.project is None else config.project
    try:
        cases = Path("/dev/stdin" if args.file == "-" else args.file)
        rules = Path(args.rules)
        results = policy.run_cases(cases, rules, project, crash_report.report, _complete_snippet)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{args.file} cannot be read: {why(error)}", "Give a table of cases."
        ) from error
    if args.json:
        print_json({"rows": [case.to_json(verdict) for case, verdict in results]})
    else:
        policy_tables.show_results(results)
    are_right = all(case.is_right(verdict) for case, verdict in results)
    return exit_codes.OK if are_right else exit_codes.ERROR


def _log(args: argparse.Namespace, config: Config) -> int:
    try:
        entries = list(audit.read_entries(config.log_dir))
    except OSError as error:
        raise ContextModeError(f"{config.log_dir} cannot be read: {why(error)}") from error
    if args.json:
        print_json({"entries": entries})
    else:
        policy_tables.show_log(entries)
    return exit_codes.OK


ACTIONS = {
    "check": (_check, "may this program run?"),
    "explain": (_explain, "the steps from a program to its verdict"),
    "list": (_list, "every rule in force and where it is written"),
    "test": (_test, "try a table of cases: language, code, expected, reason, tab-separated"),
    "log": (_log, "the verdicts that were given, secrets masked"),
}


def _rules(args: argparse.Namespace, config: Config) -> policy.Rules:
    if args.rules is not None:
        return policy.load_file(Path(args.rules), project=config.project, home=config.home)
    return load_rules(config.project, config.home)


def _subject(args: argparse.Namespace, config: Config) -> policy.Subject:
    code, path = _program(args)
    name = _language(args.lang, path)
    return policy.Subject(
        language=name,
        code=code,
        cwd=str(Path.cwd()),
        project=str(config.project),
        home=str(config.home),
        env=dict(os.environ),
        surface=SURFACES[args.surface] if args.surface else USUAL_SURFACES.get(name, "sandbox"),
        complete=completion(language(name), is_script=path is not None),
    )


def _complete_snippet(name: str) -> policy.Complete | None:
    try:
        return completion(language(name), is_script=False)
    except UnknownLanguage:
        return None


def _program(args: argparse.Namespace) -> tuple[str, Path | None]:
    """Read the program's text; return its file too, if it has one."""
    given = [*([] if args.program is None else [args.program]), *args.program_args]
    if len(given) != 1:
        raise UsageError("one program is needed", "Give it as one word in quotes, a file, or -.")
    if given[0] == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), None
    path = Path(given[0])
    if args.program is None or not _is_file(path):
        return given[0], None
    try:
        return path.read_text(encoding="utf-8", errors="replace"), path
    except OSError as error:
        raise UsageError(f"{given[0]!r} cannot be read: {why(error)}") from error


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
