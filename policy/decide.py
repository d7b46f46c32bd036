"""Comparison of effects with rules, and of many matches to one verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from base.globs import is_made_of
from policy import marks
from policy.analysis import SHELL_NAMES, Analysis, analyse
from policy.command_patterns import (
    Found,
    approves,
    is_stripped,
    match_command,
    only_reads,
    spellings,
)
from policy.matching import (
    FileFacts,
    Folders,
    RealPath,
    download_matches,
    file_matches,
    fill,
    match_of,
)
from policy.model import (
    ADDRESS_RULE,
    Command,
    Decision,
    Download,
    EffectPlace,
    FileAccess,
    Match,
    MatchKind,
    OpaqueExec,
    Redirect,
    Rule,
    Rules,
    Subject,
    Unparsed,
    Verdict,
    encode,
)
from policy.paths import is_below

ReadText = Callable[[str], str | None]
Tools = Collection[str] | None
Words = tuple[str, ...]
WORK_MAX = 500_000
"""The limit on comparisons of a program's commands with rules."""
FILE_WORK = 10  # what comparing a file costs in such comparisons
_BY_DEFAULT = {
    Decision.ASK: "asked: no rule allows all of it, so the default asks the user.",
    Decision.DENY: "denied: no rule allows all of it, and Claude Code's settings (defaultMode "
    "dontAsk, or denyInsteadOfPrompting) deny the rest. The user can add it to allow.",
}


def evaluate(  # noqa: PLR0913 - all are named
    subject: Subject,
    rules: Rules,
    *,
    real_path: RealPath | None = None,
    tools: Tools = None,
    read_text: ReadText | None = None,
    folders: Folders | None = None,
) -> Verdict:
    """Decide whether this program may run. Never raises for anything the program holds.

    `real_path` resolves symbolic links, so that path rules hold at both ends of one; without it
    they are not followed. `tools` are those a redirect may name; None means all exist. `read_text`
    returns the text of a script file by its absolute path, or None if that must not be read.
    Certain effects of such a file count, too. `folders` find whether a pattern or a recursion meets
    a file that a rule denies; without, only a pattern about such a file counts.
    """
    analysis = analyse(subject, read_text)
    return decide(analysis, subject, rules, FileFacts(real_path, folders), tools)


def decide(
    analysis: Analysis, subject: Subject, rules: Rules, ground: FileFacts, tools: Tools
) -> Verdict:
    """Return the verdict on a program's effects; `tools` are as for `evaluate`."""
    if subject.surface == "agent_shell":
        root = subject.project or "/"
        where = subject.cwd[len(root) + 1 :] if is_below(subject.cwd, root) else ""
        ground = ground._replace(instead=_sandbox_call(subject.code, tools, where))
    matches = _usable(_matches(analysis, subject, rules, ground), tools)
    return _verdict(matches, analysis, rules)


def deny_undecided(text: str, rules: Rules, why: str) -> Verdict:
    """Return the verdict on a text that could not be judged: by the strictest rule there might be
    for it. `why` goes into the message. Without a rule that restricts, it is allowed."""
    place = _place(text)._replace(text=text[:120])
    matches = tuple(_strictest_matches(place, rules, why))
    verdict = _verdict(matches, Analysis((Unparsed(why, place),), "unparsed", 0), rules)
    return verdict if matches else verdict._replace(message=f"{verdict.message} ({why})")


def matches_of(subject: Subject, rules: Rules) -> tuple[Match, ...]:
    """Return every match of a program, allow rules included."""
    return _matches(analyse(subject), subject, rules, FileFacts())


def evaluate_read(
    path: str,
    rules: Rules,
    *,
    real_path: RealPath | None = None,
    size_bytes: int | None = None,
    size_redirect_bytes: int = 256 * 1024,
) -> Verdict:
    """Decide whether this file may be read. `path` is absolute.

    A file larger than `size_redirect_bytes`, if its size is given, is better analysed in the
    sandbox.
    """
    verdict = _evaluate_file(path, rules, real_path, is_write=False)
    if verdict.decision is Decision.ALLOW and size_bytes and size_bytes > size_redirect_bytes:
        advice = "Analyse it with the tool: only the output of your program is returned."
        from policy import messages  # noqa: PLC0415 - as in _verdict

        redirect = Redirect("ctx_execute_file", {"path": path}, advice)
        message = messages.redirect_message(f"This file has {size_bytes:,} bytes.", redirect)
        return Verdict(Decision.REDIRECT, verdict.matches, "full", redirect, message)
    return verdict


def evaluate_search(  # noqa: PLR0913 - as above
    path: str,
    rules: Rules,
    *,
    pattern: str = "",
    real_path: RealPath | None = None,
    is_tree: bool = False,
    folders: Folders | None = None,
    tools: Collection[str] | None = None,
) -> Verdict:
    """Decide whether this may be searched. `path` is absolute and may hold a search's own `*`, `?`
    and `[…]`. `pattern` is the text that it looks for, if any. With `is_tree` it shows the content
    of the files of that folder. `folders` and `tools` are as in `evaluate`."""
    effect = FileAccess(marks.mark_glob(path), False, (), _place(path), is_tree)
    looks = "grep -rnE -e '" + pattern.replace("'", "'\\''") + "'" if pattern else "ls -d"
    where = re.sub(r"[^\w./*?\[\]-]", r"\\\g<0>", path)
    ground = FileFacts(real_path, folders, _sandbox_call(f"{looks} {where}", tools))
    return _verdict_on(effect, _usable(file_matches(effect, rules, ground), tools), rules)


def evaluate_write(path: str, rules: Rules, *, real_path: RealPath | None = None) -> Verdict:
    """Decide whether this file may be written. A rule against reading it counts, too."""
    return _evaluate_file(path, rules, real_path, is_write=True)


def evaluate_fetch(url: str, rules: Rules, *, allow_private: bool = False) -> Verdict:
    """Decide whether this address may be fetched.

    To be repeated at every redirect, and with `check_address` once the name is resolved. With
    `allow_private` it may be of this machine or of a private network.
    """
    from base.addresses import check_url  # noqa: PLC0415 - only fetches need its tables

    effect = Download(marks.show(url), False, (), _place(url))  # no part of it is unknown
    if refused := check_url(url, allow_private=allow_private).refused:
        return _verdict_on(effect, [match_of(ADDRESS_RULE, "domain", effect, refused)], rules)
    matches = tuple(download_matches(effect, rules, "sandbox"))
    return _named(matches, _verdict_on(effect, matches, rules), rules)


def evaluate_tool(name: str, rules: Rules, inputs: Mapping[str, object] | None = None) -> Verdict:
    """Decide whether this tool may be called. For MCP tools and the host's own.

    `inputs` are the call's top-level inputs, for rules like `Tool(parameter:value)`.
    """
    call = OpaqueExec("", (), _place(name))
    matching = (r for r in rules.of("tool") if _tool_matches(r.spec, name, inputs or {}))
    matches = tuple(match_of(rule, "tool", call) for rule in matching)
    return _named(matches, _verdict(matches, Analysis((), "full", 0), rules), rules)


def _tool_matches(spec: str, name: str, inputs: Mapping[str, object]) -> bool:
    spec, has_parameter, rest = spec.partition("(")
    if has_parameter and not _has_input(rest.removesuffix(")"), inputs):
        return False
    return is_made_of(spec.split("*"), name) or (
        spec.count("__") == 1 and name.startswith(spec + "__")
    )


def _has_input(spec: str, inputs: Mapping[str, object]) -> bool:
    """Return whether `parameter:value` is one scalar input; an absent one never is."""
    parameter, _, value = map(str.strip, spec.partition(":"))
    given = inputs.get(parameter)
    if given is None or isinstance(given, list | dict):
        return False
    shown = str(given).lower() if isinstance(given, bool) else str(given)
    return is_made_of(value.split("*"), shown)


def _evaluate_file(
    path: str, rules: Rules, real_path: RealPath | None, *, is_write: bool
) -> Verdict:
    effect = FileAccess(path, is_write, (), _place(path))
    return _verdict_on(effect, file_matches(effect, rules, FileFacts(real_path)), rules)


def _place(text: str) -> EffectPlace:
    return EffectPlace((0, len(encode(text))), text)


def _matches(
    analysis: Analysis, subject: Subject, rules: Rules, ground: FileFacts
) -> tuple[Match, ...]:
    found: dict[Match, None] = {}
    passed: set[object] = set()  # commands that no rule is about
    of_commands = rules.of("command")
    of_files = rules.of("edit", "read")
    work = 0
    for effect in analysis.effects:
        is_file = isinstance(effect, FileAccess)
        work += FILE_WORK * len(of_files) if is_file else len(of_commands)
        if work > WORK_MAX:
            why = (
                f"the program does too much to compare all of it with {len(rules.rules):,} rules; "
                "run less at once, or use fewer rules"
            )
            found.update(dict.fromkeys(_strictest_matches(effect.place, rules, why)))
            break
        if isinstance(effect, Command):
            seen = (effect.argv, effect.place.text, effect.is_syntactic, effect.in_file)
            if seen in passed:
                continue
            matches = tuple(_command_matches(effect, of_commands))
            if not matches:
                passed.add(seen)
        elif isinstance(effect, FileAccess):
            matches = tuple(file_matches(effect, rules, ground))
        elif isinstance(effect, Download):
            matches = tuple(download_matches(effect, rules, subject.surface))
        else:
            matches = tuple(_unknown_matches(effect, rules, subject))
        found.update(dict.fromkeys(matches))
    return tuple(found)


def _command_matches(command: Command, rules: Iterable[Rule]) -> Iterator[Match]:
    seen = spellings(command)
    for rule in rules:
        found: Found | None
        if rule.decision is Decision.ALLOW:
            found = "compat" if approves(rule.spec, command) else None
        else:
            found = match_command(rule.spec, seen)
        if found is None or (found == "possible" and command.in_file):
            continue
        kind: MatchKind = "opaque-exec" if found == "possible" else found
        why = "an unknown word could make it match" if found == "possible" else rule.reason
        redirect = fill(rule, command=command.place.text)
        yield match_of(rule, kind, command, why, redirect)


def _strictest_matches(place: EffectPlace, rules: Rules, why: str) -> Iterator[Match]:
    """Yield the strictest rule on programs, if effects cannot be compared with all rules."""
    restricting = rules.restricting("command", "edit", "read", "fetch")
    return _by_strictest(restricting, "unparsed", place, why)


def _unknown_matches(
    effect: OpaqueExec | Unparsed, rules: Rules, subject: Subject
) -> Iterator[Match]:
    """Apply the strictest rule on commands to unknown code; on a host, any rule to unread code."""
    if isinstance(effect, Unparsed) and subject.surface == "agent_shell":
        return _strictest_matches(effect.place, rules, effect.why)
    restricting = rules.restricting("command")
    if isinstance(effect, Unparsed):
        return _by_strictest(restricting, "unparsed", effect.place, effect.why)
    if effect.argv and subject.language not in SHELL_NAMES:
        # Its words are somewhere in the program, or it is not chased.
        restricting = tuple(rule for rule in restricting if _is_written(rule, subject.code))
    argv = tuple(map(marks.show, effect.argv))
    return _by_strictest(restricting, "opaque-exec", effect.place, effect.why, argv)


def _is_written(rule: Rule, code: str) -> bool:
    """Return whether each word of a rule occurs in a program."""
    return all(word.strip("-*") in code for word in rule.spec.split())


def _by_strictest(
    restricting: Iterable[Rule], kind: MatchKind, place: EffectPlace, why: str, argv: Words = ()
) -> Iterator[Match]:
    rule = max(restricting, key=lambda rule: rule.decision, default=None)
    if rule is not None:
        text = marks.show(place.text)
        yield Match(kind, rule.text, rule.source, rule.decision, kind, argv, place.span, text, why)


def _sandbox_call(code: str, tools: Tools, cwd: str = "") -> dict[str, str]:
    """Return the arguments that run it in the sandbox; empty if no tool does that."""
    if tools is not None and "ctx_execute" not in tools:
        return {}
    return {"language": "shell", "code": code} | ({"cwd": cwd} if cwd else {})


def _usable(matches: Iterable[Match], tools: Tools) -> tuple[Match, ...]:
    """Return the matches without redirects to missing tools."""
    if tools is None:
        return tuple(matches)
    return tuple(m for m in matches if m.redirect is None or m.redirect.tool in tools)


def _verdict_on(effect: FileAccess | Download, matches: Iterable[Match], rules: Rules) -> Verdict:
    return _verdict(tuple(matches), Analysis((effect,), "full", 0), rules)


def _verdict(matches: tuple[Match, ...], analysis: Analysis, rules: Rules) -> Verdict:
    decision = max((match.decision for match in matches), default=Decision.ALLOW)
    redirect, message = None, "allowed"
    if decision is not Decision.ALLOW:
        from policy import messages  # noqa: PLC0415 - an allowed program needs no message

        deciding = next(match for match in matches if match.decision is decision)
        redirect = deciding.redirect if decision is Decision.REDIRECT else None
        message = messages.message(deciding, matches, rules)
    elif rules.default is not Decision.ALLOW and not _is_all_allowed(matches, analysis, rules):
        decision = rules.default
        message = _BY_DEFAULT[decision]
    return Verdict(decision, matches, analysis.coverage, redirect, message, analysis.work)


def _named(matches: tuple[Match, ...], verdict: Verdict, rules: Rules) -> Verdict:
    """Return the verdict on one call of a tool: an allow rule must name it if others are denied."""
    if rules.default is not Decision.DENY or not verdict.allowed or matches:
        return verdict
    return verdict._replace(decision=Decision.DENY, message=_BY_DEFAULT[Decision.DENY])


def _is_all_allowed(matches: tuple[Match, ...], analysis: Analysis, rules: Rules) -> bool:
    """Return whether an allow rule matches every command and every file written, and all is known.
    If all else is denied, a command that only reads needs no rule, as with Claude Code."""
    allowed = {(m.span, m.argv, m.kind) for m in matches if m.decision is Decision.ALLOW}
    if analysis.coverage != "full":
        return False
    for effect in analysis.effects:
        kind = "compat" if isinstance(effect, Command) else "path"
        if isinstance(effect, Command) and is_stripped(effect):
            continue  # the command that it starts is judged separately
        if isinstance(effect, Command) and rules.default is Decision.DENY and only_reads(effect):
            continue
        if isinstance(effect, FileAccess) and not (effect.is_write and effect.path != "/dev/null"):
            continue
        if isinstance(effect, Command | FileAccess):
            key = (effect.place.span, tuple(map(marks.show, effect.argv)), kind)
            if key not in allowed:
                return False
    return True
