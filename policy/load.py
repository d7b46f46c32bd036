"""Reading of rule files, with the place of each rule."""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar, cast

from base.globs import SPECIAL
from base.plain_files import read_plain
from policy.claude import UNREADABLE, Anchors, entries_of, parse_rule, read_settings, warnings_of
from policy.model import DEFAULT_RULES, Decision, Rule, RuleFileError, Rules, RuleSource
from policy.paths import is_below, lies_in
from policy.project_file import read_project_file

if TYPE_CHECKING:
    from pathlib import Path  # loading it takes a tenth of a hook's time

PROJECT_MARKS = (".git", ".ctxmode")
BYTES_MAX = 4 << 20  # of a file of rules, or one that names a repository's place


T = TypeVar("T")


class Disk:
    """Answers to questions about paths, each kept to find out whether it has changed."""

    def __init__(self) -> None:
        self.answers: dict[tuple[Callable[[str], object], str], object] = {}

    def ask(self, question: Callable[[str], T], path: str) -> T:
        """Answer a question about a path."""
        if (question, path) not in self.answers:
            self.answers[question, path] = question(path)
        return cast("T", self.answers[question, path])


def is_in_trusted(project: str, folders: Iterable[str], home: str, disk: Disk) -> bool:
    """Return whether a project, a real path, is in one of the folders that the user trusts.

    A dependency or submodule inside a trusted project is not trusted by that. A folder in the
    project itself does not count: anyone who writes there could point the name anywhere.
    """
    outer = outer_projects(project, home, disk)
    for folder in folders:
        written = os.path.normpath(os.path.join(home, folder.removeprefix("~/")))
        real = disk.ask(real_path, written)
        is_inner = any(lies_in(one, real) for one in outer)
        way = [disk.ask(real_path, one) for one in _above(written)]
        if lies_in(project, real) and not is_inner and not any(lies_in(w, project) for w in way):
            return True
    return False


def outer_projects(project: str, home: str, disk: Disk) -> list[str]:
    """Return the projects that a project, a real path, is inside, the nearest first.

    As when a project is looked for, neither the home folder nor its parents count. Nor does a
    folder that another user has made, as anybody may in `/tmp`.
    """
    found = []
    owners = {os.geteuid(), disk.ask(_owner, project)} - {None}
    for folder in _above(project):
        if lies_in(home, folder):
            break
        marks = [disk.ask(_owner, os.path.join(folder, mark)) for mark in PROJECT_MARKS]
        if not owners.isdisjoint(marks):
            found.append(folder)
    return found


def main_checkout(project: str, disk: Disk) -> str | None:
    """Return the folder that a worktree of git belongs to; None for any other project."""
    disk.ask(_mark, os.path.join(project, ".git"))
    try:
        text = read_plain(os.path.join(project, ".git"), BYTES_MAX).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    folder, found, _ = text.removeprefix("gitdir: ").partition("/.git/worktrees/")
    return folder if found and folder.startswith("/") else None


def _owner(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


def _mark(path: str) -> tuple[int, ...]:
    """Return what differs once a file was changed, its time of change first; 0 if it has none."""
    try:
        info = os.stat(path)
    except OSError as error:
        return 0, error.errno or 0
    return info.st_ctime_ns, info.st_mtime_ns, info.st_dev, info.st_ino, info.st_size


def _above(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, the nearest first."""
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


StrPath = str | os.PathLike[str]
MANAGED: StrPath = "/etc/claude-code/managed-settings.json"


def load_rules(
    project: StrPath | None,
    *,
    home: StrPath,
    config_home: StrPath | None = None,
    claude_home: StrPath | None = None,
    trust_project_allow: bool = False,
) -> Rules:
    """Load all rules for a project, strictest first in effect whatever the order here.

    Read are Claude Code's settings (managed, with the folder next to them; user: in `claude_home`,
    the value of `CLAUDE_CONFIG_DIR` if that is set, else `~/.claude`; project, project-local) and
    our own `policy.toml` (user: under `config_home`, else `~/.config`; project: `.ctxmode/`). If
    the managed settings have `allowManagedPermissionRulesOnly`, Claude Code's other files are
    skipped. A project's allow rules, and its default, count only if `trust_project_allow` is set,
    or for a trusted project. That is one whose folder, or one above it, is in `trusted_projects` of
    the user's `policy.toml` (see `policy.load`). Deny and ask rules of the projects around it count
    as well. So do, for a worktree of git, the local settings of its main checkout.

    Raises:
        RuleFileError: a file cannot be used; a missing one is not an error.
    """
    disk = Disk()
    return _load(
        disk, project, home, config_home, claude_home, trust_project_allow=trust_project_allow
    )


SETTLED_NS = 2_000_000_000
"""A file changed within this time may change again without another time of change."""


class CurrentRules:
    """The rules of a project, loaded again once a file or link that decided them was changed."""

    def __init__(
        self, project: StrPath, home: StrPath, config_home: StrPath, claude_home: StrPath
    ) -> None:
        """Set up for these folders, as `load_rules` describes them."""
        self._places = project, home, config_home, claude_home
        self._kept: tuple[Rules, Disk] | None = None

    def load(self) -> Rules:
        """Return the present rules. RuleFileError as `load_rules`."""
        kept, began_ns = self._kept, time.time_ns()
        if kept is not None and all(
            question(path) == answer for (question, path), answer in kept[1].answers.items()
        ):
            return kept[0]
        self._kept, disk = None, Disk()
        rules = _load(disk, *self._places, trust_project_allow=False)
        marks = [disk.ask(_mark, path) for question, path in disk.answers if question is _mark]
        if all(changed_ns < began_ns - SETTLED_NS for changed_ns, *_ in marks):
            self._kept = rules, disk
        return rules


def _load(  # noqa: PLR0913 - the places of rules
    disk: Disk,
    project: StrPath | None,
    home: StrPath,
    config_home: StrPath | None,
    claude_home: StrPath | None,
    *,
    trust_project_allow: bool,
) -> Rules:
    loader = _Loader(project, home, disk)
    claude_home = os.fspath(claude_home or os.path.join(home, ".claude"))
    loader.add_managed(os.fspath(MANAGED))
    user_settings = os.path.join(claude_home, "settings.json")
    loader.add_settings(user_settings, own=claude_home, is_trusted=True)
    user_config = config_home or os.path.join(home, ".config")
    loader.add_toml(os.path.join(user_config, "ctxmode", "policy.toml"), is_trusted=True)
    if project is not None:
        real = disk.ask(real_path, os.fspath(project))
        real_home = disk.ask(real_path, os.fspath(home))
        is_trusted = trust_project_allow or is_in_trusted(real, loader.trusted, real_home, disk)
        loader.add_project(os.fspath(project), is_trusted=is_trusted)
        for outer in outer_projects(real, real_home, disk):
            loader.add_project(outer, is_trusted=False, is_outer=True)
        if main := main_checkout(real, disk):
            local = os.path.join(main, ".claude", "settings.local.json")
            loader.add_settings(local, own=os.fspath(project), is_trusted=is_trusted)
    return loader.rules()


def load_file(path: Path, *, project: Path | None, home: Path) -> Rules:
    """Load the rules of only one settings or TOML file, with the shipped defaults."""
    loader = _Loader(project, home, Disk())
    if not os.path.exists(path):
        raise RuleFileError(
            str(path), 1, "cannot be read: no such file", "Give the path of a rule file."
        )
    if path.suffix == ".toml":
        loader.add_toml(str(path), is_trusted=True)
    else:
        loader.add_settings(str(path), own=str(project or path.parent), is_trusted=True)
    return loader.rules()


class _Loader:
    """Collector of rules from files, one after the other."""

    def __init__(self, project: StrPath | None, home: StrPath, disk: Disk) -> None:
        self._disk = disk
        self.project = None if project is None else os.fspath(project)
        self.home = os.fspath(home)
        self.trusted: list[str] = []  # folders, as the user's own file names them
        self.found: list[Rule] = []
        self.untrusted: list[Rule] = []
        self.sources: list[str] = []
        self.warnings: list[str] = []
        self.default = Decision.ALLOW
        self.managed_only = False
        self.mode: object = None  # Claude Code's `defaultMode`
        self.is_mode_managed = self.asks_nobody = False

    def rules(self) -> Rules:
        """Return the collected rules, with the shipped defaults."""
        if self.asks_nobody or self.mode == "dontAsk":
            self.found = [_deny_asking(rule) for rule in self.found]
            self.default = Decision.DENY
        return Rules(
            (*self.found, *DEFAULT_RULES),
            tuple(self.sources),
            tuple(self.warnings),
            self.default,
            tuple(self.untrusted),
        )

    def add_project(self, folder: str, *, is_trusted: bool, is_outer: bool = False) -> None:
        """Add the rules of a project's own files; an outer one's allow rules do not count."""
        before = len(self.warnings), len(self.untrusted)
        for name in ("settings.json", "settings.local.json"):
            path = os.path.join(folder, ".claude", name)
            self.add_settings(path, own=folder, is_trusted=is_trusted)
        own_rules = os.path.join(folder, ".ctxmode", "policy.toml")
        self.add_toml(own_rules, is_trusted=is_trusted, own=folder)
        if is_outer:
            del self.warnings[before[0] :], self.untrusted[before[1] :]

    def add_managed(self, path: str) -> None:
        """Add the settings that an administrator wrote, and those in the folder next to them."""
        folder = f"{path.removesuffix('.json')}.d"
        self._disk.ask(_mark, folder)
        for file in (path, *_settings_in(folder)):
            self.add_settings(file, own=os.path.dirname(path), is_trusted=True)

    def add_settings(self, path: str, *, own: str, is_trusted: bool) -> None:
        """Add a Claude Code settings file."""
        is_managed = lies_in(path, os.path.dirname(MANAGED))
        if self.managed_only and not is_managed:
            return
        root = os.path.dirname(os.path.dirname(path))
        text = self._text(path, root=None if is_trusted else root, errors="replace")
        if text is None:
            return
        document, permissions, odd = read_settings(text, path)
        if UNREADABLE in text:
            odd = (*odd, "it has bytes that are not UTF-8")
        self.managed_only |= is_managed and document.get("allowManagedPermissionRulesOnly") is True
        self.asks_nobody |= permissions.get("denyInsteadOfPrompting") is True
        mode = permissions.get("defaultMode")
        # A project that is not trusted cannot loosen it, and nobody can loosen managed settings.
        if mode and not self.is_mode_managed and (is_trusted or mode == "dontAsk"):
            self.mode, self.is_mode_managed = mode, is_managed
        told = (*odd, *warnings_of(permissions))
        self.warnings += (f"{self._shorten(path)}: {it}" for it in told)
        anchors = self._anchors(own)
        for entry, decision, line in entries_of(permissions, text, path):
            source = RuleSource(self._shorten(path), line)
            rule, warning = parse_rule(entry, decision, source, anchors)
            if warning:
                self.warnings.append(f"{source}: {warning}")
            if rule is not None:
                self._add(rule, is_trusted)

    def add_toml(self, path: str, *, is_trusted: bool, own: str | None = None) -> None:
        """Add a TOML file; every example in it is tried."""
        text = self._text(path, root=None if is_trusted else own)
        if text is None:
            return
        anchors = self._anchors(own or self.project or self.home)
        from policy import toml_rules  # noqa: PLC0415 - few have such a file

        groups, default, trusted = toml_rules.parse_toml(text, path, anchors, is_trusted=is_trusted)
        self.trusted += trusted
        if default is Decision.ASK or (default is not None and is_trusted):
            self.default = default
        for rules, examples in groups:
            for example, expected in examples:
                toml_rules.try_example(example, expected, rules, anchors)
            for rule in rules:
                source = RuleSource(self._shorten(path), rule.source.line)
                self._add(rule._replace(source=source), is_trusted)

    def _add(self, rule: Rule, is_trusted: bool) -> None:
        if rule.decision is Decision.ALLOW and not is_trusted:
            self.warnings.append(
                f"{rule.source}: {rule.text} is not in force: "
                "allow rules of a project count only if trusted_projects in your own "
                "policy.toml names it"
            )
            self.untrusted.append(rule)
            return
        self.found.append(rule)
        if rule.anchor is not None and rule.decision is not Decision.ALLOW:
            self.found += _resolve_links(rule, rule.anchor, partial(self._disk.ask, real_path))

    def _text(self, path: str, *, root: str | None = None, errors: str = "strict") -> str | None:
        self._disk.ask(_mark, path)
        try:
            if root is None:  # the user's own, or of a project that the user trusts
                data = read_plain(path, BYTES_MAX)
            else:
                data = read_project_file(path, root, None, BYTES_MAX)
            # A text in another encoding is not JSON; one of UTF-8 may have an odd byte.
            is_utf8 = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"
            text = data.decode("utf-8", errors if is_utf8 else "strict")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            remedy = "Make it a readable UTF-8 file, or remove it."
            raise RuleFileError(path, 1, f"cannot be read: {error}", remedy) from None
        self.sources.append(self._shorten(path))
        return text

    def _anchors(self, own: str) -> Anchors:
        """Return the base folders of rules; those of an outer project are seen from there."""
        here = self.project or self.home
        return Anchors(self.home, own, own if is_below(here, own) else here)

    def _shorten(self, path: str) -> str:
        for folder, prefix in ((self.project, ""), (self.home, "~/")):
            if folder is not None and is_below(path, folder):
                return prefix + path[len(folder.rstrip("/")) + 1 :]
        return path


def _settings_in(folder: str) -> list[str]:
    """Return the settings files in a folder, in the order of their names."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".json")]


def _deny_asking(rule: Rule) -> Rule:
    """Return the rule for hosts that never prompt: denied instead of asked."""
    if rule.decision is not Decision.ASK:
        return rule
    why = "it needs approval, and Claude Code's settings deny everything that does"
    return rule._replace(decision=Decision.DENY, reason=rule.reason or why)


def _resolve_links(rule: Rule, anchor: str, real_path: Callable[[str], str]) -> Iterator[Rule]:
    """Yield the same rule for the real path that it names through a link."""
    folders = rule.spec.split("/")[1:-1] if rule.spec.startswith("/") else []
    known = [f"/{name}" for name in takewhile(frozenset(SPECIAL).isdisjoint, folders)]
    written = anchor.rstrip("/") + "".join(known) or "/"
    real = real_path(written)
    if real != written:
        yield rule._replace(spec=rule.spec[len("".join(known)) :], anchor=real)


def real_path(path: str) -> str:
    """Return the path with symbolic links resolved, for rules that must hold at both ends of one.

    A path that no disk can hold, as with a NUL character, or with very many links stays as it is.
    """
    try:
        return os.path.realpath(path)
    except (ValueError, RecursionError):
        return path if path.startswith("/") else f"{os.getcwd()}/{path}"
