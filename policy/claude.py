"""Claude Code's settings: their rules, and what each of these means."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from base.strict_data import strict_json
from base.wordlist import word_set
from policy.model import Decision, Rule, RuleFileError, RuleKind, RuleSource
from policy.paths import normal

RULES_MAX = 2_000  # of one file
UNREADABLE = "\ufffd"  # stands for a byte that is not UTF-8
_RESTRICTING = ("deny", "ask")
_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
_FOLDERS = word_set(
    """additionalDirectories blockReadsOutsideWorkingDirectories
    blockWritesOutsideWorkingDirectories"""
)
_OTHERS = word_set(
    "defaultMode denyInsteadOfPrompting disableBypassPermissionsMode disableAutoMode"
)


class Settings(NamedTuple):
    """The content of a settings file, its permissions, and warnings about it."""

    document: Mapping[str, Any]
    permissions: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


class _Object(dict[str, Any]):
    """An object of JSON in which the last of repeated keys counts."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs) if len(self) < len(pairs) else {}
        self.repeated = [key for key, count in counts.items() if count > 1]


def read_settings(text: str, path: str) -> Settings:
    """Read a settings file as Claude Code reads it: a byte order mark is skipped, an empty file has
    no settings, and the last of repeated keys counts.

    Raises:
        RuleFileError: it is not JSON, it or its permissions are not an object, or permissions are
            repeated or hold a repeated key: one of two lists of denials would be lost.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return Settings({}, {}, ("it is empty, so it has no settings",))
    warnings: list[str] = []

    def read_object(pairs: list[tuple[str, Any]]) -> _Object:
        found = _Object(pairs)
        names = (f"the key {key!r:.80} is repeated: the last one counts" for key in found.repeated)
        warnings.extend(names)
        return found

    try:
        document = strict_json(text, read_object)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise RuleFileError(path, line, f"not valid JSON: {error}", "Fix the syntax.") from None
    if not isinstance(document, _Object):
        raise RuleFileError(path, 1, "not a JSON object", 'Write {"permissions": {...}}.')
    permissions = document.get("permissions")
    if permissions is None:
        permissions = {}
    line = text.count("\n", 0, max(text.find('"permissions"'), 0)) + 1
    if not isinstance(permissions, dict):
        raise RuleFileError(path, line, "permissions is not an object", "Write it as {...}.")
    again = [key for key in document.repeated if key == "permissions"]
    again += getattr(permissions, "repeated", [])
    if again:
        why = f"not valid JSON: the key {again[0]!r:.80} is repeated"
        raise RuleFileError(path, line, why, "Merge the two.")
    return Settings(document, permissions, tuple(warnings))


def entries_of(
    permissions: Mapping[str, Any], text: str, path: str
) -> Iterator[tuple[str, Decision, int]]:
    """Yield each rule with its line. An invalid entry of `allow` is left out.

    Raises:
        RuleFileError: an entry that denies or asks cannot be read, or there are too many rules.
    """
    count = 0
    for key, decision in _LISTS.items():
        at, line = _seek(text, f'"{key}"', 0, 1)
        entries: Any = permissions.get(key)
        if entries is None or (key not in _RESTRICTING and not isinstance(entries, list)):
            continue
        if not isinstance(entries, list):
            raise RuleFileError(
                path, line, f"permissions.{key} is not a list", "Write it as [...]."
            )
        count += len(entries)
        if count > RULES_MAX:
            raise RuleFileError(
                path, line, f"it has over {RULES_MAX:,} rules", "Remove rules that others cover."
            )
        for entry in entries:
            if not _is_rule(entry):
                if key not in _RESTRICTING:
                    continue
                raise RuleFileError(path, line, f"{entry!r} is not a rule", "Write it in quotes.")
            at, line = _seek(text, json.dumps(entry, ensure_ascii=False), at, line)
            yield entry, decision, line


def _is_rule(entry: object) -> bool:
    """Return whether an entry can be read. One with a byte that is not UTF-8 has no certain
    meaning."""
    return isinstance(entry, str) and bool(entry.strip()) and UNREADABLE not in entry


def warnings_of(permissions: Mapping[str, Any]) -> Iterator[str]:
    """Yield warnings about keys that have no effect here."""
    for key, value in permissions.items():
        if key in _LISTS and value is None:
            yield f"permissions.{key} is null, so it has no rules"
        elif key == "allow" and not isinstance(value, list):
            yield "permissions.allow is not a list, so it has no rules"
        elif key == "allow" and not all(map(_is_rule, value)):
            yield "permissions.allow has entries that are not rules; they are ignored"
        elif key in _FOLDERS and value:
            yield f"{key} is Claude Code's own: here profiles set the visible and writable folders"
        elif key == "defaultMode" and value not in ("default", "manual", "dontAsk"):
            yield f"defaultMode {value!r:.40} is Claude Code's own and changes nothing here"
        elif key not in {*_LISTS, *_FOLDERS, *_OTHERS}:
            yield f"unknown key {key!r:.40} in permissions; it is ignored"


def _seek(text: str, literal: str, at: int, line: int) -> tuple[int, int]:
    """Return where a literal occurs next, and on which line. If it does not, as when it is escaped,
    return the place of the one before."""
    found = max(text.find(literal, at), at)
    return found, line + text.count("\n", at, found)


_KINDS: dict[str, RuleKind] = {
    "Bash": "command",
    "Read": "read",
    "Edit": "edit",
    "WebFetch": "fetch",
}
_NEVER_CONSULTED = word_set("Write NotebookEdit Glob Grep MultiEdit NotebookRead LS")
_TOOLS = word_set(
    """Agent Artifact AskUserQuestion Bash BashOutput Cd CronCreate CronDelete CronList Edit
    EndConversation EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillShell LS
    LSP ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead PowerShell Read
    ReadMcpResourceTool SendMessage Skill SlashCommand Task TaskCreate TaskGet TaskList TaskOutput
    TaskStop TaskUpdate TeamCreate TeamDelete TodoWrite ToolSearch WebFetch WebSearch Write"""
)
# By tool: inputs that a rule may name, and those whose rules have a separate form.
_PARAMETERS = {
    "Bash": word_set("dangerouslyDisableSandbox description run_in_background"),
    "Read": word_set("limit offset pages"),
    "Edit": word_set("replace_all"),
    "WebFetch": word_set("prompt"),
}
_PRIMARY = {"Bash": "command", "Read": "file_path", "Edit": "file_path", "WebFetch": "url"}
# A rule may be a whole program, as a host writes it when it was allowed.
_CHARS_MAX = {"Bash": 64 << 10}
_PATTERN_CHARS_MAX = 1024
_PATTERN_STARS_MAX = 64
_PRIMARY_FIELDS = word_set("command file_path path notebook_path url")


class Anchors(NamedTuple):
    """Base folders of path rules: the home, the source's own, and the current one."""

    home: str
    own: str
    current: str


def parse_rule(
    text: str, decision: Decision, source: RuleSource, anchors: Anchors
) -> tuple[Rule | None, str]:
    """Parse a rule; return None and a reason if it is never consulted.

    Raises:
        RuleFileError: it restricts, and is longer or has more stars than the limit.
    """
    name, spec = _split_rule(text)
    if excess := _excess(name, text):
        shown = f"{text[:80]}…" if len(text) > 80 else text
        if decision is Decision.ALLOW:
            return None, f"{shown} {excess}; it is ignored"
        raise RuleFileError(
            source.path, source.line, f"{shown} {excess}", "Write a shorter rule, or several."
        )
    if not name or any(char in "()" or char.isspace() for char in name):
        return None, f"{text!r} is not a rule: write Tool or Tool(spec)"
    # `Tool(*)` is `Tool`. For a server's tool Claude Code ignores it: it may only restrict.
    if (spec or "").strip() in ("", "*") and not (
        name.startswith("mcp__") and decision is Decision.ALLOW
    ):
        spec = None
    kind = _KINDS.get(name)
    written = Rule(text, "tool", text, "", decision, source)
    parameter, _, value = map(str.strip, (spec or "").partition(":"))
    is_prefix = name == "Bash" and parameter == "command" and value == "*"  # of the builtin
    if kind is None or (parameter in (_PRIMARY[name], *_PARAMETERS[name]) and not is_prefix):
        return _tool_rule(written, name, spec)
    if kind in ("read", "edit"):
        return _path_rule(written, kind, spec, anchors)
    if kind == "fetch":
        return _fetch_rule(written, spec)
    rule = written._replace(kind=kind, spec=(spec or "*").strip())
    is_literal = ":*" in rule.spec[:-2]
    return rule, f"{text}: :* means a prefix only at the end" if is_literal else ""


def _split_rule(text: str) -> tuple[str, str | None]:
    """Split a rule into the tool's name and the text in parentheses after it."""
    text = text.strip()
    name, opened, rest = text.partition("(")
    return (name.rstrip(), rest[:-1]) if opened and rest.endswith(")") else (text, None)


def _excess(name: str, text: str) -> str:
    """Return which limit a rule exceeds; empty if none."""
    chars_max = _CHARS_MAX.get(name, _PATTERN_CHARS_MAX)
    if len(text) > chars_max:
        return f"has over {chars_max:,} characters"
    if name not in _CHARS_MAX and text.count("*") > _PATTERN_STARS_MAX:
        return f"has over {_PATTERN_STARS_MAX} stars"
    return ""


def _tool_rule(written: Rule, name: str, spec: str | None) -> tuple[Rule | None, str]:
    """Build a rule for other tools: known by name alone, globs allowed if it restricts."""
    text = written.text
    if name in _NEVER_CONSULTED and spec is not None and not re.match(r"[a-z_]+ *:", spec):
        return None, f"{text}: path rules for {name} are never consulted; use Read or Edit"
    if spec is not None and name.startswith("mcp__"):
        return None, f"{text}: rules for MCP tools take no parentheses"
    if "*" in name and written.decision is Decision.ALLOW and not re.match(r"mcp__[\w-]+__", name):
        return None, f"{text}: an allow rule may use * only after mcp__server__"
    if spec is not None:
        parameter, colon, _ = spec.partition(":")
        if parameter.strip() in _PRIMARY_FIELDS:
            return None, f"{text}: {parameter} cannot be matched as a parameter"
        if not colon or written.decision is Decision.ALLOW:
            return None, (
                f"{text}: here {name} is matched by name, or in deny and ask by (parameter:value); "
                "only Claude Code applies this one"
            )
    known = name in _TOOLS or "_" in name or "*" in name
    rule = written._replace(spec=name if spec is None else f"{name}({spec})")
    return rule, "" if known else f"{text}: unknown tool {name}"


def _path_rule(
    written: Rule, kind: RuleKind, spec: str | None, anchors: Anchors
) -> tuple[Rule | None, str]:
    if spec is None:
        return written._replace(kind=kind, spec="**"), ""
    spec = spec.strip()
    if spec.startswith("!"):
        return None, f"{written.text}: a rule cannot exclude paths from other rules with !"
    anchor, pattern = _split_anchor(spec, anchors)
    if ".." in pattern.split("/"):
        pattern = normal(pattern.lstrip("/"))
        while pattern.split("/", 1)[0] == "..":
            anchor, pattern = os.path.dirname(anchor), pattern[3:]
        pattern = f"/{pattern}"
    if pattern.strip("/") in ("", "."):
        pattern = "**"  # the folder itself, with all below it
    restricts = written.decision is not Decision.ALLOW
    if not spec.startswith(("/", "~/")) and restricts and _at_any_depth(pattern):
        if "/" in pattern.rstrip("/") and not pattern.startswith("**/"):
            pattern = f"**/{pattern}"  # gitignore would tie it to the root
    elif "/" in pattern.rstrip("/"):
        pattern = "/" + pattern.removeprefix("./").lstrip("/")
    is_absolute = spec.startswith(f"{anchors.home}/")
    warning = f"{written.text}: for a path from the root, begin with //" if is_absolute else ""
    return written._replace(kind=kind, spec=pattern, anchor=anchor), warning


def _split_anchor(spec: str, anchors: Anchors) -> tuple[str, str]:
    """Split off an anchor: `//` root, `~/` home, `/` the source's folder, else the current one."""
    if spec.startswith("//"):
        return "/", "/" + spec.lstrip("/")
    if spec == "~" or spec.startswith("~/"):
        return anchors.home, "/" + spec[2:]
    if spec.startswith("/"):
        return anchors.own, spec
    return anchors.current, spec


def _at_any_depth(pattern: str) -> bool:
    """Return whether a pattern fits at any depth: `name`, `**/name`, `src/**`."""
    if pattern.startswith("./"):
        return False
    if pattern.startswith("**/"):
        return True
    return "/" not in pattern.rstrip("/").removesuffix("/**")


def _fetch_rule(written: Rule, spec: str | None) -> tuple[Rule | None, str]:
    field, _, domain = map(str.strip, ("domain:*" if spec is None else spec).partition(":"))
    if field != "domain" or not domain:
        return None, f"{written.text}: write WebFetch(domain:example.com)"
    return written._replace(kind="fetch", spec=domain), ""
