"""Our own rules in TOML, with reasons and with examples that are checked when they load.

default = "ask"                     # what no rule speaks of; "allow" when absent
trusted_projects = ["~/src/mine"]   # whose own allow rules count; in a person's own file only

[[rule]]
id = "no-publish"
decision = "deny"                   # deny, redirect, ask or allow
commands = ["npm publish *"]        # or read, write, fetch: lists of patterns
reason = "Releases are made by CI."
advice = "Open a pull request instead."
match = ["npm publish --tag next"]  # must be matched by this rule
not_match = ["npm pack"]            # must not

[rule.redirect]                     # for decision = "redirect"
tool = "ctx_execute_file"
arguments = { path = "{path}" }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policy.claude import Anchors, parse_rule
from policy.model import Decision, RuleFileError, Source
from policy.rules import RedirectTo, Rule
from policy.toml_text import load_toml

TABLES_MAX = 500
_TOP_KEYS = frozenset(("default", "rule", "trusted_projects"))
_PATTERN_KEYS = {"commands": "Bash", "read": "Read", "write": "Edit", "fetch": "WebFetch"}
_RULE_KEYS = frozenset(
    ("id", "decision", "reason", "advice", "redirect", "match", "not_match", *_PATTERN_KEYS)
)
_DECISIONS = {decision.word: decision for decision in Decision}


def parse_toml(
    text: str, path: str, anchors: Anchors
) -> tuple[
    tuple[Rule, ...], Decision | None, tuple[tuple[Rule, ...], ...], list[Mapping[str, Any]]
]:
    """The rules of a file, its default, and per `[[rule]]` its rules and its table.

    Raises RuleFileError for anything that is not exactly understood.
    """
    try:
        document = load_toml(text)
    except (ValueError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        number = int(line[1]) if line else text.count("\n") + 1
        raise RuleFileError(
            path, number, f"not valid TOML: {error}", "Correct the syntax"
        ) from None
    _refuse_unknown_keys(document, _TOP_KEYS, path, 1)
    default = _default(document, path)
    tables = document.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RuleFileError(path, 1, "rule is not an array of tables", "Write each as [[rule]]")
    if len(tables) > TABLES_MAX:
        raise RuleFileError(path, 1, f"it has over {TABLES_MAX:,} rules", "Leave some out")
    lines = [
        text.count("\n", 0, m.start()) + 1
        for m in re.finditer(r"(?m)^[ \t]*\[\[\s*rule\s*\]\]", text)
    ]
    groups = tuple(
        tuple(_rules_of(table, Source(path, lines[index] if index < len(lines) else 1), anchors))
        for index, table in enumerate(tables)
    )
    return tuple(rule for group in groups for rule in group), default, groups, tables


def trusted_projects(text: str, path: str, *, is_trusted: bool) -> tuple[str, ...]:
    """The folders whose projects a person trusts; a file that is valid TOML is taken for granted.

    Raises RuleFileError where they are not a list of paths, or a project names itself.
    """
    document = load_toml(text)
    if "trusted_projects" not in document:
        return ()
    line = next((n for n, row in enumerate(text.split("\n"), 1) if "trusted_projects" in row), 1)
    if not is_trusted:
        raise RuleFileError(
            path, line, "a project cannot trust itself",
            "Write trusted_projects into policy.toml of your own configuration",
        )  # fmt: skip
    folders = _strings(document, "trusted_projects", Source(path, line))
    for folder in folders:
        if not folder.startswith(("/", "~/")):
            raise RuleFileError(
                path, line, f"trusted_projects: {folder!r} is relative", "Begin it with / or ~/"
            )
    return tuple(folders)


def _refuse_unknown_keys(
    table: Mapping[str, Any], known: frozenset[str], path: str, line: int
) -> None:
    for key in table:
        if key not in known:
            raise RuleFileError(path, line, f"unknown key {key!r}", _one_of(key, sorted(known)))


def _one_of(word: str, known: Sequence[str]) -> str:
    """A hint: what was probably meant, and all that there is."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    near = difflib.get_close_matches(word, known, n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    return f"{meant}Use one of {', '.join(known)}"


def _default(document: Mapping[str, Any], path: str) -> Decision | None:
    word = document.get("default")
    if word is None:
        return None
    if word not in ("allow", "ask"):
        raise RuleFileError(path, 1, f"default = {word!r}", 'Write default = "allow" or "ask"')
    return _DECISIONS[word]


def _rules_of(table: Mapping[str, Any], source: Source, anchors: Anchors) -> Iterator[Rule]:
    _refuse_unknown_keys(table, _RULE_KEYS, source.path, source.line)
    decision = _DECISIONS.get(table.get("decision", ""))
    if decision is None:
        raise RuleFileError(
            source.path, source.line, f"decision = {table.get('decision')!r}",
            _one_of(str(table.get("decision", "")), tuple(_DECISIONS)),
        )  # fmt: skip
    redirect = _redirect(table, decision, source)
    found = False
    for key, tool in _PATTERN_KEYS.items():
        for pattern in _strings(table, key, source):
            spec = f"domain:{pattern}" if tool == "WebFetch" else pattern
            rule, problem = parse_rule(f"{tool}({spec})", decision, source, anchors)
            if rule is None:
                raise RuleFileError(source.path, source.line, problem, "Correct the pattern")
            found = True
            yield Rule(
                str(table.get("id") or rule.text), rule.kind, rule.text, rule.spec, decision,
                source, rule.anchor, _text(table, "reason", source),
                _text(table, "advice", source), redirect,
            )  # fmt: skip
    if not found:
        raise RuleFileError(
            source.path, source.line, "a rule without a pattern",
            f"Give it one of {', '.join(_PATTERN_KEYS)}",
        )  # fmt: skip


def _redirect(table: Mapping[str, Any], decision: Decision, source: Source) -> RedirectTo | None:
    given = table.get("redirect")
    if (given is not None) != (decision is Decision.REDIRECT):
        raise RuleFileError(
            source.path, source.line, "redirect and its decision go together",
            'Write decision = "redirect" and a [rule.redirect] table with tool',
        )  # fmt: skip
    if given is None:
        return None
    tool = given.get("tool") if isinstance(given, dict) else None
    arguments = given.get("arguments", {}) if isinstance(given, dict) else {}
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise RuleFileError(source.path, source.line, "redirect without a tool", "Name the tool")
    return RedirectTo(tool, {str(key): str(value) for key, value in arguments.items()})


def _strings(table: Mapping[str, Any], key: str, source: Source) -> list[str]:
    value = table.get(key, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise RuleFileError(
            source.path, source.line, f"{key} is not a list of texts", "Write a list"
        )
    return value


def _text(table: Mapping[str, Any], key: str, source: Source) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise RuleFileError(source.path, source.line, f"{key} is not a text", "Write it in quotes")
    return value


def examples(table: Mapping[str, Any], source: Source) -> Iterator[tuple[str, bool]]:
    """A rule's examples, each with whether the rule must match it."""
    for text in _strings(table, "match", source):
        yield text, True
    for text in _strings(table, "not_match", source):
        yield text, False
