"""Effects against rules, and many matches to one verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from policy import marks
from policy.analysis import Analysis, analyse
from policy.command_patterns import Found, approves, is_stripped, match_command, spellings
from policy.effects import Command, Download, FileAccess, OpaqueExec, Place, Unparsed, encoded
from policy.model import Decision, Match, MatchKind, Redirect, Subject, Verdict
from policy.path_patterns import lies_in_tree, match_path
from policy.rules import ADDRESS_RULE, Rule, Rules
from policy.wildcards import is_made_of

RealPath = Callable[[str], str]
ReadText = Callable[[str], str | None]
Tools = Collection[str] | None
WORK_MAX = 500_000
"""How often a command of a program is compared with a rule, over all its commands."""
FILE_WORK = 10  # what comparing a file costs beside that


def evaluate(
    subject: Subject,
    rules: Rules,
    *,
    real_path: RealPath | None = None,
    tools: Tools = None,
    read_text: ReadText | None = None,
) -> Verdict:
    """May this program run? Never raises for anything the program holds.

    `real_path` resolves symbolic links, so that path rules hold at both ends
    of one; without it links on the disk are not followed. `tools` are those a
    redirect may name; None means all are there. `read_text` gives the text of
    a script file by its absolute path, None where it may not be looked at;
    what such a file is certain to do counts like what the program itself does.
    """
    return decide(analyse(subject, read_text), subject, rules, real_path, tools)


def decide(
    analysis: Analysis, subject: Subject, rules: Rules, real_path: RealPath | None, tools: Tools
) -> Verdict:
    """The verdict on what a program does; the rest is as `evaluate` takes it."""
    matches = _usable(_matches(analysis, subject, rules, real_path), tools)
    return _verdict(matches, analysis, rules)


def undecided(text: str, rules: Rules, why: str) -> Verdict:
    """The verdict on a text that could not be judged: by the strictest rule there might be for it.

    `why` goes into the message. Without a rule that restricts, it is allowed.
    """
    place = Place((0, len(encoded(text))), text[:120])
    matches = tuple(_strictest_matches(place, rules, why))
    verdict = _verdict(matches, Analysis((Unparsed(why, place),), "unparsed", 0), rules)
    return verdict if matches else verdict._replace(message=f"{verdict.message} ({why})")


def matches_of(subject: Subject, rules: Rules) -> tuple[Match, ...]:
    """Every match of a program, allow rules included."""
    return _matches(analyse(subject), subject, rules, None)


def evaluate_read(
    path: str,
    rules: Rules,
    *,
    real_path: RealPath | None = None,
    size_bytes: int | None = None,
    size_redirect_bytes: int = 256 * 1024,
) -> Verdict:
    """May this file be read? `path` is absolute.

    A file larger than `size_redirect_bytes`, where its size is given, is
    better analysed where it lies.
    """
    verdict = _evaluate_file(path, rules, real_path, is_write=False)
    if verdict.decision is Decision.ALLOW and size_bytes and size_bytes > size_redirect_bytes:
        advice = "Analyse it with the tool; only what your program prints comes back."
        redirect = Redirect("ctx_execute_file", {"path": path}, advice)
        message = f"{path} has {size_bytes} bytes: use {redirect.tool}. {advice}"
        return Verdict(Decision.REDIRECT, verdict.matches, "full", redirect, message)
    return verdict


def evaluate_search(
    path: str, rules: Rules, *, real_path: RealPath | None = None, is_tree: bool = False
) -> Verdict:
    """May this be searched? `path` is absolute and may hold a search's own `*`, `?` and `[…]`;
    with `is_tree` the search shows what is in the files of that folder."""
    return _evaluate_file(marks.globbed(path), rules, real_path, is_write=False, is_tree=is_tree)


def evaluate_write(path: str, rules: Rules, *, real_path: RealPath | None = None) -> Verdict:
    """May this file be written? A rule against reading it is one against writing it, too."""
    return _evaluate_file(path, rules, real_path, is_write=True)


def evaluate_fetch(url: str, rules: Rules, *, allow_private: bool = False) -> Verdict:
    """May this address be fetched?

    To be asked again at every redirect, and with `check_address` once the name is resolved. With
    `allow_private` it may be of this machine or of a private network.
    """
    from policy.addresses import check_url  # noqa: PLC0415 - only who fetches pays for its tables

    place = Place((0, len(encoded(url))), url)
    effect = Download(url, False, (), place)
    if refused := check_url(url, allow_private=allow_private).refused:
        match = _match(ADDRESS_RULE, "domain", effect, refused)
        return _verdict((match,), Analysis((effect,), "full", 0), rules)
    matches = tuple(_download_matches(effect, rules, "sandbox"))
    return _verdict(matches, Analysis((effect,), "full", 0), rules)


def evaluate_tool(name: str, rules: Rules, inputs: Mapping[str, object] | None = None) -> Verdict:
    """May this tool be called? For MCP tools and the host's own.

    `inputs` are the call's top-level inputs, for rules like `Tool(parameter:value)`.
    """
    place = Place((0, len(name)), name)
    matches = tuple(
        _match(rule, "tool", OpaqueExec("", (), place))
        for rule in rules.of("tool")
        if _tool_matches(rule.spec, name, inputs or {})
    )
    return _verdict(matches, Analysis((), "full", 0), rules)


def _tool_matches(spec: str, name: str, inputs: Mapping[str, object]) -> bool:
    spec, has_parameter, rest = spec.partition("(")
    if has_parameter and not _has_input(rest.removesuffix(")"), inputs):
        return False
    return _names_tool(spec, name) or (spec.count("__") == 1 and name.startswith(spec + "__"))


def _has_input(spec: str, inputs: Mapping[str, object]) -> bool:
    """`parameter:value` against one scalar input; one that is absent never matches."""
    parameter, _, value = map(str.strip, spec.partition(":"))
    given = inputs.get(parameter)
    if given is None or isinstance(given, list | dict):
        return False
    shown = str(given).lower() if isinstance(given, bool) else str(given)
    return is_made_of(value.split("*"), shown)


def _names_tool(spec: str, name: str) -> bool:
    """A tool name against one with stars."""
    head, *rest = spec.split("*")
    if not rest:
        return spec == name
    return name.startswith(head) and name.endswith(rest[-1])


def _evaluate_file(
    path: str,
    rules: Rules,
    real_path: RealPath | None,
    *,
    is_write: bool,
    is_tree: bool = False,
) -> Verdict:
    place = Place((0, len(encoded(path))), path)
    effect = FileAccess(path, is_write, (), place, is_tree)
    matches = tuple(_file_matches(effect, rules, real_path))
    return _verdict(matches, Analysis((effect,), "full", 0), rules)


# Matching


def _matches(
    analysis: Analysis, subject: Subject, rules: Rules, real_path: RealPath | None
) -> tuple[Match, ...]:
    found: dict[Match, None] = {}
    of_commands = rules.of("command")
    of_files = rules.of("edit", "read")
    work = 0
    for effect in analysis.effects:
        is_file = isinstance(effect, FileAccess)
        work += FILE_WORK * len(of_files) if is_file else len(of_commands)
        if work > WORK_MAX:
            why = (
                f"the program does too much to compare all of it with {len(rules.rules):,} rules; "
                "run less at once, or have fewer rules"
            )
            found.update(dict.fromkeys(_strictest_matches(effect.place, rules, why)))
            break
        if isinstance(effect, Command):
            found.update(dict.fromkeys(_command_matches(effect, of_commands)))
        else:
            found.update(dict.fromkeys(_effect_matches(effect, subject, rules, real_path)))
    return tuple(found)


def _strictest_matches(place: Place, rules: Rules, why: str) -> Iterator[Match]:
    """The strictest rule that restricts, for what cannot be compared with all of them."""
    of_programs = rules.of("command", "edit", "read", "fetch")
    restricting = [rule for rule in of_programs if rule.decision in (Decision.DENY, Decision.ASK)]
    if not restricting:
        return
    rule = max(restricting, key=lambda rule: rule.decision)
    yield Match(
        "unparsed", rule.text, rule.source, rule.decision, "unparsed", (), place.span,
        marks.shown(place.text), why,
    )  # fmt: skip


def _effect_matches(
    effect: FileAccess | Download | OpaqueExec | Unparsed,
    subject: Subject,
    rules: Rules,
    real_path: RealPath | None,
) -> Iterator[Match]:
    if isinstance(effect, FileAccess):
        yield from _file_matches(effect, rules, real_path)
    elif isinstance(effect, Download):
        yield from _download_matches(effect, rules, subject.surface)
    else:
        yield from _unknown_matches(effect, rules)


def _command_matches(command: Command, rules: Iterable[Rule]) -> Iterator[Match]:
    seen = spellings(command)
    for rule in rules:
        found: Found | None
        if rule.decision is Decision.ALLOW:
            found = "compat" if approves(rule.spec, command) else None
        else:
            found = match_command(rule.spec, seen)
        if found is None:
            continue
        kind: MatchKind = "opaque-exec" if found == "possible" else found
        why = "an unknown word could make it match" if found == "possible" else rule.reason
        redirect = _filled(rule, command=command.place.text)
        yield _match(rule, kind, command, why, redirect)


def _file_matches(access: FileAccess, rules: Rules, real_path: RealPath | None) -> Iterator[Match]:
    paths = [access.path]
    if real_path is not None and access.path.startswith("/"):
        known, unknown = _known_part(access.path)
        paths.append(f"{real_path(known).rstrip('/')}{unknown}" or "/")
    for rule in rules.of("edit", "read"):
        if not _concerns(rule, is_write=access.is_write):
            continue
        hits = [match_path(rule.spec, rule.anchor, path) for path in paths]
        if access.is_tree and rule.decision is not Decision.ALLOW and not any(hits):
            hits = [lies_in_tree(rule.spec, rule.anchor, path, access.excluded) for path in paths]
        # To allow, a link and what it points to must both be allowed; to deny, one is enough.
        if all(hits) if rule.decision is Decision.ALLOW else any(hits):
            redirect = _filled(rule, path=access.path)
            yield _match(rule, "path", access, rule.reason, redirect)


def _known_part(path: str) -> tuple[str, str]:
    """The folders of a path up to where it is only partly known, and the rest with its slash."""
    if marks.is_known(path):
        return path, ""
    segments = path.split("/")
    first = next(at for at, segment in enumerate(segments) if not marks.is_known(segment))
    return "/".join(segments[:first]) or "/", "/" + "/".join(segments[first:])


def _concerns(rule: Rule, *, is_write: bool) -> bool:
    """Edit rules are about writing; a read rule that restricts also restricts writing."""
    if rule.kind == "edit":
        return is_write
    return not is_write or rule.decision is not Decision.ALLOW


def _download_matches(download: Download, rules: Rules, surface: str) -> Iterator[Match]:
    from policy.domain_patterns import host_of, match_domain  # noqa: PLC0415 - as in evaluate_fetch

    host = host_of(download.url) if marks.is_known(download.url) else None
    for rule in rules.of("fetch"):
        if host is not None and match_domain(rule.spec, host):
            redirect = _filled(rule, url=download.url)
            yield _match(rule, "domain", download, rule.reason, redirect)
    if surface != "agent_shell" or not download.reaches_output:
        return
    for rule in rules.of("download"):
        yield _match(rule, "normalised", download, rule.reason, _instead(rule, download))


def _instead(rule: Rule, download: Download) -> Redirect | None:
    """The tool's arguments; a request that is more than a plain fetch goes to the sandbox."""
    sends = {"-d", "--data", "-X", "--request", "-F", "--form", "-T", "--json", "--data-binary"}
    if sends.intersection(download.argv) or not marks.is_known(download.url):
        arguments = {"language": "shell", "code": download.place.text}
        return Redirect("ctx_execute", arguments, "Run it there and print only what you need.")
    return _filled(rule, url=download.url)


def _unknown_matches(effect: OpaqueExec | Unparsed, rules: Rules) -> Iterator[Match]:
    """Unknown code takes the strictest of the rules that restrict commands."""
    restricting = rules.restricting_commands()
    if not restricting:
        return
    strictest = max(restricting, key=lambda rule: rule.decision)
    kind: MatchKind = "unparsed" if isinstance(effect, Unparsed) else "opaque-exec"
    argv = tuple(map(marks.shown, effect.argv)) if isinstance(effect, OpaqueExec) else ()
    advice = "Write the command out, so that it can be checked."
    yield Match(
        kind, strictest.text, strictest.source, strictest.decision, kind, argv,
        effect.place.span, marks.shown(effect.place.text), effect.why, advice,
    )  # fmt: skip


def _filled(rule: Rule, **values: str) -> Redirect | None:
    if rule.redirect is None:
        return None
    arguments = {}
    for key, template in rule.redirect.arguments.items():
        arguments[key] = re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), template)
    return Redirect(rule.redirect.tool, arguments, rule.advice)


def _match(
    rule: Rule,
    kind: MatchKind,
    effect: Command | FileAccess | Download | OpaqueExec,
    reason: str = "",
    redirect: Redirect | None = None,
) -> Match:
    place = effect.place
    argv = tuple(map(marks.shown, effect.argv))
    return Match(
        rule.id, rule.text, rule.source, rule.decision, kind, argv, place.span,
        marks.shown(place.text), reason or rule.reason, rule.advice, redirect,
    )  # fmt: skip


# Deciding


def _usable(matches: Iterable[Match], tools: Tools) -> tuple[Match, ...]:
    """Without redirects to tools that are not there."""
    if tools is None:
        return tuple(matches)
    return tuple(m for m in matches if m.redirect is None or m.redirect.tool in tools)


def _verdict(matches: tuple[Match, ...], analysis: Analysis, rules: Rules) -> Verdict:
    strict = [match for match in matches if match.decision is not Decision.ALLOW]
    decision = max((match.decision for match in strict), default=Decision.ALLOW)
    if (
        decision is Decision.ALLOW
        and rules.default is Decision.ASK
        and not _is_all_allowed(matches, analysis)
    ):
        message = "asked because no rule allows all of it and the default is to ask"
        return Verdict(Decision.ASK, matches, analysis.coverage, None, message, analysis.work)
    deciding = next((match for match in strict if match.decision is decision), None)
    redirect = deciding.redirect if deciding and decision is Decision.REDIRECT else None
    message = _message(deciding) if deciding else "allowed"
    return Verdict(decision, matches, analysis.coverage, redirect, message, analysis.work)


def _is_all_allowed(matches: tuple[Match, ...], analysis: Analysis) -> bool:
    """Every command and every file written is matched by an allow rule; nothing stayed unknown."""
    allowed = {(m.span, m.argv, m.kind) for m in matches if m.decision is Decision.ALLOW}
    if analysis.coverage != "full":
        return False
    for effect in analysis.effects:
        kind = "compat" if isinstance(effect, Command) else "path"
        if isinstance(effect, Command) and is_stripped(effect):
            continue  # what it starts is judged by itself
        if isinstance(effect, FileAccess) and not (effect.is_write and effect.path != "/dev/null"):
            continue
        if isinstance(effect, Command | FileAccess):
            key = (effect.place.span, tuple(map(marks.shown, effect.argv)), kind)
            if key not in allowed:
                return False
    return True


_VERBS = {Decision.DENY: "denied", Decision.ASK: "asked", Decision.REDIRECT: "redirected"}


def _message(match: Match) -> str:
    text = match.text if len(match.text) <= 120 else match.text[:117] + "..."
    message = f"{_VERBS[match.decision]} by {match.rule} in {match.source}: `{text}`"
    if match.kind in ("opaque-exec", "unparsed"):
        message += f" ({match.kind}: {match.reason})"
    elif match.reason:
        message += f" ({match.reason})"
    if match.redirect is not None:
        message += f" Use {match.redirect.tool} instead."
    return f"{message} {match.advice}".rstrip()
