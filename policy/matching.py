"""Effects on files and the network against rules, and how a rule that speaks of one is noted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from policy import marks
from policy.effects import Command, Download, FileAccess, OpaqueExec
from policy.folders import Folders
from policy.model import Decision, Match, MatchKind, Redirect
from policy.path_patterns import match_path
from policy.paths import find_known_folder
from policy.reach import find_feared_path, is_about, is_meant
from policy.rules import Rule, Rules

RealPath = Callable[[str], str]


class FileFacts(NamedTuple):
    """What is known of files, and the arguments of the tool that runs the same in the sandbox,
    where denied files are covered. No arguments: no tool does; None: it runs there already."""

    real_path: RealPath | None = None
    folders: Folders | None = None
    instead: Mapping[str, str] | None = None


_SENDS = (
    r" (-[a-zA-Z]*d|-[a-zA-Z]*F|-T|--data\S*|--form\S*|--json|--upload-file|--post-\S+"
    r"|(-X|--request[ =]) ?(?i:post|put|patch|delete))[ =@\S]"
)


def file_matches(access: FileAccess, rules: Rules, ground: FileFacts) -> Iterator[Match]:
    """The rules on a file; what an access may only happen to touch is no denial."""
    paths = [access.path]
    if ground.real_path is not None and access.path.startswith("/"):
        known = find_known_folder(access.path)
        unknown = access.path[len(known.rstrip("/")) :] if known != access.path else ""
        paths.append(f"{ground.real_path(known).rstrip('/')}{unknown}" or "/")
    for rule in rules.of("edit", "read"):
        if not _concerns(rule, is_write=access.is_write):
            continue
        hits = [path for path in paths if match_path(rule.spec, rule.anchor, path)]
        # To allow, a link and what it points to must both be allowed; to deny, one is enough.
        if rule.decision is Decision.ALLOW:
            is_hit = len(hits) == len(paths)
        else:
            is_hit = any(is_meant(rule, path) for path in hits)
        if is_hit:
            redirect = fill(rule, path=access.path)
            named = access._replace(path=hits[0])  # what a link leads to, perhaps
            yield match_of(rule, "path", named, rule.reason, redirect)
        elif rule.decision is not Decision.ALLOW:
            found = (find_feared_path(access, path, rule, ground.folders) for path in paths)
            file = next(filter(None, found), None)
            if file and (match := _possible_match(rule, access, file, ground)):
                yield match


def _possible_match(rule: Rule, access: FileAccess, file: str, ground: FileFacts) -> Match | None:
    """A denial becomes a redirect where a tool of the sandbox does the same. Where none does, it
    stays if its pattern is about the file, and does not count else. Nor does it for what runs there
    already. Other rules stay as they are."""
    match = match_of(rule, "path", access, "", fill(rule, path=file))._replace(path=file)
    if rule.decision is not Decision.DENY or (ground.instead == {} and is_about(rule, access.path)):
        return match
    if not ground.instead:
        return None
    from policy import messages  # noqa: PLC0415 - what is allowed needs no words

    redirect = messages.to_sandbox(ground.instead, file)
    return match._replace(decision=Decision.REDIRECT, redirect=redirect, advice=redirect.advice)


def _concerns(rule: Rule, *, is_write: bool) -> bool:
    """Edit rules are about writing; a read rule that restricts also restricts writing."""
    if rule.kind == "edit":
        return is_write
    return not is_write or rule.decision is not Decision.ALLOW


def download_matches(download: Download, rules: Rules, surface: str) -> Iterator[Match]:
    from policy.domain_patterns import host_of, match_domain  # noqa: PLC0415 - as in evaluate_fetch

    host = host_of(download.url) if marks.is_known(download.url) else None
    for rule in rules.of("fetch"):
        if host is not None and match_domain(rule.spec, host):
            redirect = fill(rule, url=download.url)
            yield match_of(rule, "domain", download, rule.reason, redirect)
    if surface != "agent_shell" or not download.reaches_output or _is_for_curl(download):
        return
    for rule in rules.of("download"):
        yield match_of(rule, "normalised", download, rule.reason, _instead(rule, download))


def _is_for_curl(download: Download) -> bool:
    """Whether a request is one that no tool makes: it sends something, or is to this machine or to
    a private network, or its scheme is none of the web's."""
    from policy.addresses import check_url  # noqa: PLC0415 - as in evaluate_fetch

    if re.search(_SENDS, " ".join(("", *download.argv, ""))):
        return True
    url = download.url if "://" in download.url else f"http://{download.url}"
    host = re.match(r"https?://([^/:@]+)", url)  # a port may be unknown
    url = host.group() if host and not marks.is_known(url) else url
    return marks.is_known(url) and bool(check_url(url).refused)


def _instead(rule: Rule, download: Download) -> Redirect | None:
    """The tool's arguments; a request that is more than a plain fetch goes to the sandbox."""
    if not marks.is_known(download.url):
        arguments = {"language": "shell", "code": download.place.text}
        return Redirect("ctx_execute", arguments, "Run it there and print only what you need.")
    return fill(rule, url=download.url)


def fill(rule: Rule, **values: str) -> Redirect | None:
    if rule.redirect is None:
        return None
    arguments = {}
    for key, template in rule.redirect.arguments.items():
        arguments[key] = re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), template)
    return Redirect(rule.redirect.tool, arguments, rule.advice)


def match_of(
    rule: Rule,
    kind: MatchKind,
    effect: Command | FileAccess | Download | OpaqueExec,
    reason: str = "",
    redirect: Redirect | None = None,
) -> Match:
    place = effect.place
    argv = tuple(map(marks.show, effect.argv))
    path, access = "", ""
    if isinstance(effect, FileAccess):
        path, access = marks.show(effect.path), "write" if effect.is_write else "read"
    return Match(
        rule.id, rule.text, rule.source, rule.decision, kind, argv, place.span,
        marks.show(place.text), reason or rule.reason, rule.advice, redirect, path, access,
    )  # fmt: skip
