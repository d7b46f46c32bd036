"""git: options before the subcommand, aliases, and settings that run programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from base.wordlist import words
from policy import marks
from policy.shell.files import report_diffs
from policy.shell.options import TABLES, by_name, outer_values, parse
from policy.shell.outputs import quote
from policy.shell.state import ShellState

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall

# Settings whose value git hands to a shell, or runs.
_COMMAND_SETTING = (
    r"(?i)(core\.(pager|editor|sshcommand|askpass|fsmonitor|gitproxy|hookspath)|pager\..+"
    r"|sequence\.editor|diff\.external|diff\..+\.(command|textconv)|merge\..+\.driver"
    r"|(diff|merge)tool\..+\.(cmd|path)|filter\..+\.(clean|smudge|process)|credential\.(.+\.)?helper"
    r"|gpg\.(.+\.)?program|interactive\.difffilter|remote\..+\.(uploadpack|receivepack|vcs)"
    r"|uploadpack\.packobjectshook|web\.browser|browser\..+\.cmd|man\..+\.cmd|sendemail\..*cmd"
    r"|trailer\..+\.(command|cmd)|submodule\..+\.update|difftool\..+|instaweb\.httpd)"
)

# Long options of subcommands whose value is a command.
_RUNS = words(TABLES["sets"]["git_commands"])


SUBCOMMANDS = by_name(TABLES["git"])

_HAVE_DRY_RUNS = ("add", "stage", "mv", "rm")


def run_git(call: ProgramCall) -> str | None:
    """Report what git would start or open besides itself."""
    options = parse(call.argv, *(outer_values("git") or ("", ())), permutes=False)
    rest = tuple(word for _, word in options.operands)
    for folder in options.values(("C",)):
        call = call.inside_folder(folder)
    aliases = dict[str, str]()
    settings = [text.partition("=")[::2] for text in options.values(("c", "config-env"))]
    for name, value in (*settings, *_settings_of_environment(call.state)):
        _consider_setting(call, name, value, aliases)
    if not rest:
        return None
    if alias := aliases.get(rest[0]):
        _run_alias(call, alias, rest[1:])
    if rest[0] == "stash":
        verb = rest[1] if rest[1:] and rest[1][:1] != "-" else "push"
        rest = (f"stash-{verb}", *rest[1 + (verb in rest[:2]) :])
    if rest[0] == "config":
        _configure(call, rest)
    elif rest[:1] == ("submodule",) and "foreach" in rest:
        run = parse(rest[rest.index("foreach") :], permutes=False).operands
        call.run_text(" ".join(word for _, word in run), "git submodule foreach")
    elif rest[:2] == ("bisect", "run"):
        call.run(rest[2:])
    elif rest[0] in SUBCOMMANDS:
        _run_subcommand(call, rest)
    return None


def _settings_of_environment(state: ShellState) -> Iterator[tuple[str, str]]:
    """Yield `GIT_CONFIG_KEY_0=name GIT_CONFIG_VALUE_0=value`."""
    for variable, key in state.variables.items():
        if variable.startswith("GIT_CONFIG_KEY_"):
            value = state.variables.get(variable.replace("KEY", "VALUE"))
            for name in key.values:
                yield from ((name, text) for text in (value.values if value else ()))


def _run_subcommand(call: ProgramCall, rest: tuple[str, ...]) -> None:
    row = SUBCOMMANDS[rest[0]]
    parsed = parse(rest, row.get("short", ""), (*words(row.get("long", "")), *_RUNS))
    for value in parsed.values((*row.get("runs", ""), *_RUNS)):
        call.run_text(value, f"git {rest[0]}")
    if rest[0] == "clone":
        for setting in parsed.values(("c", "config")):
            name, _, value = setting.partition("=")
            _consider_setting(call, name, value, {})
    call.report_files(*parsed.values(("F", "file", "pathspec-from-file", "template")))
    if rest[0] in ("apply", "am"):
        parsed = parse(rest, "pC", ("directory", "exclude", "include", "whitespace"))
        if not parsed.has("check", "stat", "numstat", "summary", "cached"):
            diffs = [word for _, word in parsed.operands]
            report_diffs(call, diffs, next(parsed.values(("directory",)), ""))
    if parsed.has("dry-run") or (parsed.has("cached", "n") and rest[0] in _HAVE_DRY_RUNS):
        return
    if rest[0] == "restore" and parsed.has("staged", "S") and not parsed.has("worktree", "W"):
        return
    if "shows" in row and not parsed.has(*words(row["shows"])):
        return
    call.report_files(*(value.partition(":")[2] for value in parsed.values(("L",))))
    for _, word in parsed.operands:
        if word.startswith("ext::"):
            call.run_text(re.sub(r"%(.)", lambda m: m[1], word[5:]), "git ext transport")
        elif "reads" in row or "writes" in row:
            path = word.partition(":")[2] or word
            call.report_files(path, is_write="writes" in row)


def _consider_setting(call: ProgramCall, name: str, value: str, aliases: dict[str, str]) -> None:
    if name.lower().startswith("alias."):
        aliases[name[6:]] = value
    elif name.lower() == "include.path":
        call.report_files(value)
    elif re.fullmatch(_COMMAND_SETTING, name) and value not in ("", "true", "false", "cat", "less"):
        call.run_text(value.removeprefix("!"), f"git {name}")


def _configure(call: ProgramCall, rest: tuple[str, ...]) -> None:
    """Judge `git config name value` at once, as a later git runs the value."""
    parsed = parse(rest, "f", ("file", "blob", "type", "default"))
    given = [word for _, word in parsed.operands if word != "set"]
    asks = parsed.has("l", "list", "get", "get-all", "get-regexp", "get-urlmatch")
    is_write = not asks and (len(given) > 1 or parsed.has("unset", "unset-all"))
    call.report_files(*parsed.values(("f", "file")), is_write=is_write)
    if len(given) < 2:
        return
    aliases = dict[str, str]()
    _consider_setting(call, given[0], given[1], aliases)
    for alias in aliases.values():
        _run_alias(call, alias, ())


def _run_alias(call: ProgramCall, alias: str, arguments: tuple[str, ...]) -> None:
    if not alias.startswith(marks.LIST):
        begin = alias[1:] if alias[:1] == "!" else f"git {alias}"
        call.run_text(" ".join([begin, *map(quote, arguments)]), "git alias")
