"""Matching of rules with file and network effects, and how matches are recorded."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from base.globs import is_made_of, literal_name, name_pattern
from policy import marks
from policy.model import (
    Command,
    Decision,
    Download,
    FileAccess,
    Match,
    MatchKind,
    OpaqueExec,
    Redirect,
    Rule,
    Rules,
)
from policy.path_patterns import last_name, literal_path, literal_pieces, match_path, segment_meets
from policy.paths import find_known_folder, is_below

# A name in ASCII whose last label is not a number: it has no other spelling.
_PLAIN = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z_][a-z0-9_-]*")


def host_of(url: str) -> str:
    """Return the host of a URL in the spelling used to connect; empty if it has none."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - most programs fetch nothing

    if "://" not in url:
        url = f"http://{url}"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    host = host.removesuffix(".").lower()
    if _PLAIN.fullmatch(host):
        return host
    from base.addresses import plain_host  # noqa: PLC0415 - few hosts need its tables

    return plain_host(host) or host


def match_domain(spec: str, host: str) -> bool:
    """Return whether a host fits: `*.a.b` any subdomain, not the apex; other `*` one label."""
    spec = spec.strip().removesuffix(".").lower()
    if spec == "*":
        return True
    wanted, labels = spec.split("."), host.split(".")
    if spec.startswith("*."):
        wanted = wanted[1:]
        if len(labels) <= len(wanted) or not all(labels):
            return False
        labels = labels[-len(wanted) :]
    return len(labels) == len(wanted) and all(
        is_made_of(one.split("*"), label) for one, label in zip(wanted, labels, strict=True)
    )


ENTRIES_MAX = 2_000  # of one folder and those below it
SECONDS_MAX = 0.04  # of processor time, over all questions
_PASSED_OVER = frozenset((".git", "node_modules", ".venv"))


class Folders:
    """The folders of one evaluation; each is read once, and links are not followed. Entries beyond
    the bounds count as missing."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, ...]] = {}
        self._fitting: dict[tuple[str, str, str | None], tuple[str, ...]] = {}
        self._seconds = 0.0

    def files_below(self, folder: str) -> tuple[str, ...]:
        """Return the files in a folder and in those below it, the nearest first."""
        if folder not in self._seen:
            self._seen[folder] = tuple(self._in_time(_files_below(folder)))
        return self._seen[folder]

    def matching(
        self, folder: str, key: tuple[str, str | None], fits: Callable[[str], bool]
    ) -> tuple[str, ...]:
        """Return the files below a folder that fit; `key` names `fits`, which is called once."""
        if (folder, *key) not in self._fitting:
            files = self._in_time(self.files_below(folder))
            self._fitting[folder, *key] = tuple(filter(fits, files))
        return self._fitting[folder, *key]

    def _in_time(self, items: Iterable[str]) -> Iterator[str]:
        """Yield items as long as there is time; the time of using them counts, too."""
        start = time.thread_time()
        left = SECONDS_MAX - self._seconds
        for item in items:
            if time.thread_time() - start > left:
                break
            yield item
        self._seconds += time.thread_time() - start


def _files_below(folder: str) -> Iterator[str]:
    waiting, count = [folder], 0
    for current in waiting:
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    count += 1
                    if count > ENTRIES_MAX:
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif entry.name not in _PASSED_OVER:
                        waiting.append(entry.path)
        except (OSError, ValueError):
            continue


_ODD = "\uf8ff"  # in no rule: a path with it falls under a rule only if it does with any text
_ANY_FOLDERS = (marks.GLOB_STAR * 2, marks.PATHS)


def is_certain_match(rule: Rule, path: str) -> bool:
    """Return whether a path that may fall under a rule does so for any unknown parts, or has the
    rule's name."""
    if marks.is_known(path) or match_path(rule.spec, rule.anchor, marks.fill(path, _ODD)):
        return True
    name = last_name(rule.spec)
    return any(_is_named(segment) and segment_meets(name, segment) for segment in path.split("/"))


def _is_named(segment: str) -> bool:
    """Return whether a name is known, or begins with known text before a variable."""
    return bool(segment) and not marks.has_glob(segment) and marks.is_known(segment[0])


def find_feared_path(
    access: FileAccess, path: str, rule: Rule, folders: Folders | None
) -> str | None:
    """Return the path under a rule that a pattern or a recursion may touch, or None. If no folder
    can be looked at, only a pattern that is about such a path counts."""
    is_tree = access.is_tree or path.endswith(marks.PATHS)
    if not (is_tree or marks.has_glob(path)):
        return None
    known = find_known_folder(path)
    if folders is None or not path.startswith("/"):
        is_hit = is_about(rule, path) and match_path(rule.spec, rule.anchor, path)
        return marks.show(path) if is_hit else None
    at = len(known.rstrip("/")) + 1
    pattern = [segment for segment in path[at:].split("/") if segment]
    for file in _files(rule, known, folders):
        names = file[at:].split("/")
        if _is_included(access, known, file) and _covers(pattern, names, is_tree=is_tree):
            return file
    return None


def is_about(rule: Rule, path: str) -> bool:
    """Return whether a pattern has letters of the rule's last name, or is in its folder."""
    name = last_name(rule.spec)
    for segment in path.split("/"):
        is_pattern = marks.has_glob(segment) and not marks.has_hole(segment)
        if is_pattern and marks.fill(segment, "") and segment_meets(name, segment):
            return True
    known, literal = find_known_folder(path), literal_path(rule.spec, rule.anchor)
    return literal is not None and known != rule.anchor and known == literal.rpartition("/")[0]


def _files(rule: Rule, root: str, folders: Folders) -> Iterable[str]:
    """Return the files on the disk below a folder that fall under a rule."""
    literal = literal_path(rule.spec, rule.anchor)
    if literal is not None:
        if not is_below(literal, root):
            return ()
        return folders.files_below(literal) or ((literal,) if os.path.lexists(literal) else ())
    start = rule.anchor if rule.anchor and is_below(rule.anchor, root) else root
    pieces = literal_pieces(rule.spec)
    return folders.matching(
        start,
        (rule.spec, rule.anchor),
        lambda file: all(p in file for p in pieces) and match_path(rule.spec, rule.anchor, file),
    )


def _is_included(access: FileAccess, root: str, file: str) -> bool:
    """Return whether a file is neither excluded nor of another name."""
    name = file.rpartition("/")[2]
    for pattern in access.excluded:
        if pattern[0] == ":" and name_pattern(pattern[1:]).meets(name):
            return False
        if match_path(pattern, "" if pattern[0] == "/" else root, file):
            return False
    return not access.included or any(name_pattern(p).meets(name) for p in access.included)


def _covers(pattern: Iterable[str], names: list[str], *, is_tree: bool) -> bool:
    """Return whether a path's names fit a pattern's, or with `is_tree` are below a match."""
    met = {0}
    for segment in pattern:
        if segment in _ANY_FOLDERS or marks.is_only_hole(segment):
            met = set(range(min(met), len(names) + 1))
        else:
            rest = ((i, literal_name(names[i])) for i in met if i < len(names))
            met = {i + 1 for i, name in rest if segment_meets(name, segment)}
        if not met:
            return False
    return is_tree or len(names) in met


RealPath = Callable[[str], str]


class FileFacts(NamedTuple):
    """Facts about files, and the arguments of the tool that runs the same in the sandbox, where
    denied files are covered. Empty: no tool does; None: it runs there already."""

    real_path: RealPath | None = None
    folders: Folders | None = None
    instead: Mapping[str, str] | None = None


_SENDS = (
    r" (-[a-zA-Z]*d|-[a-zA-Z]*F|-T|--data\S*|--form\S*|--json|--upload-file|--post-\S+"
    r"|(-X|--request[ =]) ?(?i:post|put|patch|delete))[ =@\S]"
)


def file_matches(access: FileAccess, rules: Rules, ground: FileFacts) -> Iterator[Match]:
    """Yield the rules on a file; an access that is only possible is not denied."""
    paths = [access.path]
    if ground.real_path is not None and access.path.startswith("/"):
        known = find_known_folder(access.path)
        unknown = access.path[len(known.rstrip("/")) :] if known != access.path else ""
        paths.append(f"{ground.real_path(known).rstrip('/')}{unknown}" or "/")
    for rule in rules.of("edit", "read"):
        if not _concerns(rule, is_write=access.is_write):
            continue
        hits = [path for path in paths if match_path(rule.spec, rule.anchor, path)]
        # To allow, a link and its target must both be allowed; to deny, one is enough.
        if rule.decision is Decision.ALLOW:
            is_hit = len(hits) == len(paths)
        else:
            is_hit = any(is_certain_match(rule, path) for path in hits)
        if is_hit:
            redirect = fill(rule, path=access.path)
            named = access._replace(path=hits[0])  # perhaps the target of a link
            yield match_of(rule, "path", named, rule.reason, redirect)
        elif rule.decision is not Decision.ALLOW:
            found = (find_feared_path(access, path, rule, ground.folders) for path in paths)
            file = next(filter(None, found), None)
            if file and (match := _possible_match(rule, access, file, ground)):
                yield match


def _possible_match(rule: Rule, access: FileAccess, file: str, ground: FileFacts) -> Match | None:
    """Turn a denial into a redirect if a tool of the sandbox does the same. If none does, it stays
    if its pattern is about the file, and otherwise does not count. Nor does it for programs that
    run there already. Other rules stay as they are."""
    match = match_of(rule, "path", access, "", fill(rule, path=file))._replace(path=file)
    if rule.decision is not Decision.DENY or (ground.instead == {} and is_about(rule, access.path)):
        return match
    if not ground.instead:
        return None
    from policy import messages  # noqa: PLC0415 - an allowed program needs no message

    redirect = messages.to_sandbox(ground.instead, file)
    return match._replace(decision=Decision.REDIRECT, redirect=redirect, advice=redirect.advice)


def _concerns(rule: Rule, *, is_write: bool) -> bool:
    """Return whether a rule applies: Edit rules to writing, restricting Read rules to both."""
    if rule.kind == "edit":
        return is_write
    return not is_write or rule.decision is not Decision.ALLOW


def download_matches(download: Download, rules: Rules, surface: str) -> Iterator[Match]:

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
    """Return whether no tool can make a request: it sends something, or is to this machine or to a
    private network, or its scheme is not the web's."""
    from base.addresses import check_url  # noqa: PLC0415 - as in evaluate_fetch

    if re.search(_SENDS, " ".join(("", *download.argv, ""))):
        return True
    url = download.url if "://" in download.url else f"http://{download.url}"
    host = re.match(r"https?://([^/:@]+)", url)  # a port may be unknown
    url = host.group() if host and not marks.is_known(url) else url
    return marks.is_known(url) and bool(check_url(url).refused)


def _instead(rule: Rule, download: Download) -> Redirect | None:
    """Return the tool's arguments; requests beyond a plain fetch go to the sandbox."""
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
