"""Our own rules in TOML, as docs/policy.md shows them, with examples checked when they load."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from base.strict_data import load_toml
from base.wording import list_choices
from base.wordlist import word_set
from policy.claude import Anchors, parse_rule
from policy.model import Decision, Redirect, Rule, RuleFileError, Rules, RuleSource, Subject

TABLES_MAX = 500
_TOP_KEYS = ("default", "rule", "trusted_projects")
_PATTERN_KEYS = {"commands": "Bash", "read": "Read", "write": "Edit", "fetch": "WebFetch"}
_RULE_KEYS = word_set("id decision reason advice redirect match not_match") | _PATTERN_KEYS.keys()
_DECISIONS = {decision.word: decision for decision in Decision}


RuleGroup = tuple[tuple[Rule, ...], tuple[tuple[str, bool], ...]]
"""The rules of one `[[rule]]`, and its examples: each with whether a rule must match it."""


def parse_toml(
    text: str, path: str, anchors: Anchors, *, is_trusted: bool
) -> tuple[tuple[RuleGroup, ...], Decision | None, tuple[str, ...]]:
    """Read a file's rules, its default, and the folders whose projects the user trusts.

    A file that is not trusted cannot trust projects. Raises RuleFileError for anything that is not
    exactly understood.
    """
    top = RuleSource(path, 1)
    try:
        document = load_toml(text)
    except (ValueError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        place = RuleSource(path, int(line[1]) if line else text.count("\n") + 1)
        raise _error(place, f"not valid TOML: {error}", "Fix the syntax.") from None
    _refuse_unknown_keys(document, _TOP_KEYS, top)
    default = document.get("default")
    if default not in (None, "allow", "ask"):
        raise _error(top, f"invalid default = {default!r}", 'Write default = "allow" or "ask".')
    tables = document.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise _error(top, "rule is not an array of tables", "Write each as [[rule]].")
    if len(tables) > TABLES_MAX:
        raise _error(top, f"it has over {TABLES_MAX:,} rules", "Remove some.")
    lines = _lines_of(text, r"[ \t]*\[\[\s*rule\s*\]\]") + [1] * len(tables)
    groups = tuple(
        _group(table, RuleSource(path, line), anchors)
        for table, line in zip(tables, lines, strict=False)
    )
    trusted = _read_trusted_projects(document, text, path, is_trusted=is_trusted)
    return groups, default and _DECISIONS[default], trusted


def _lines_of(text: str, expression: str) -> list[int]:
    """Return the numbers of the lines that begin with a match."""
    return [text.count("\n", 0, m.start()) + 1 for m in re.finditer(f"(?m)^{expression}", text)]


def _read_trusted_projects(
    document: Mapping[str, Any], text: str, path: str, *, is_trusted: bool
) -> tuple[str, ...]:
    if "trusted_projects" not in document:
        return ()
    source = RuleSource(path, next(iter(_lines_of(text, ".*trusted_projects")), 1))
    if not is_trusted:
        remedy = "Add trusted_projects to policy.toml in your own configuration."
        raise _error(source, "a project cannot trust itself", remedy)
    folders = _strings(document, "trusted_projects", source)
    for folder in folders:
        if not folder.startswith(("/", "~/")):
            problem = f"trusted_projects: {folder!r} is relative"
            raise _error(source, problem, "Begin it with / or ~/.")
    return tuple(folders)


def _error(source: RuleSource, problem: str, remedy: str) -> RuleFileError:
    return RuleFileError(source.path, source.line, problem, remedy)


def _refuse_unknown_keys(
    table: Mapping[str, Any], known: Collection[str], source: RuleSource
) -> None:
    for key in table:
        if key not in known:
            raise _error(source, f"unknown key {key!r}", list_choices(key, sorted(known)))


def _group(table: Mapping[str, Any], source: RuleSource, anchors: Anchors) -> RuleGroup:
    rules = tuple(_rules_of(table, source, anchors))
    if not rules:
        remedy = f"Add one of: {', '.join(_PATTERN_KEYS)}."
        raise _error(source, "a rule without a pattern", remedy)
    examples = ((key, _strings(table, key, source)) for key in ("match", "not_match"))
    return rules, tuple((text, key == "match") for key, texts in examples for text in texts)


def _rules_of(table: Mapping[str, Any], source: RuleSource, anchors: Anchors) -> Iterator[Rule]:
    _refuse_unknown_keys(table, _RULE_KEYS, source)
    word = table.get("decision", "")
    decision = _DECISIONS.get(word) if isinstance(word, str) else None
    if decision is None:
        problem = f"invalid decision = {table.get('decision')!r}"
        raise _error(source, problem, list_choices(str(word), _DECISIONS))
    redirect = _redirect(table, decision, source)
    for key, tool in _PATTERN_KEYS.items():
        for pattern in _strings(table, key, source):
            spec = f"domain:{pattern}" if tool == "WebFetch" else pattern
            rule, problem = parse_rule(f"{tool}({spec})", decision, source, anchors)
            if rule is None:
                raise _error(source, problem, "Fix the pattern.")
            yield rule._replace(
                id=str(table.get("id") or rule.text),
                reason=_text(table, "reason", source),
                advice=_text(table, "advice", source),
                redirect=redirect,
            )


def _redirect(table: Mapping[str, Any], decision: Decision, source: RuleSource) -> Redirect | None:
    given = table.get("redirect")
    if given is None and decision is not Decision.REDIRECT:
        return None
    tool = given.get("tool") if isinstance(given, dict) else None
    arguments = given.get("arguments", {}) if isinstance(given, dict) else {}
    is_redirect = decision is Decision.REDIRECT
    if not is_redirect or not isinstance(tool, str) or not isinstance(arguments, dict):
        remedy = 'Write decision = "redirect" and a [rule.redirect] table with tool.'
        raise _error(source, "redirect and its decision must be used together", remedy)
    return Redirect(tool, {str(key): str(value) for key, value in arguments.items()})


def _strings(table: Mapping[str, Any], key: str, source: RuleSource) -> list[str]:
    value = table.get(key, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _error(source, f"{key} is not a list of strings", "Write a list of strings.")
    return value


def _text(table: Mapping[str, Any], key: str, source: RuleSource) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise _error(source, f"{key} is not a string", "Write it in quotes.")
    return value


def try_example(example: str, expected: bool, group: tuple[Rule, ...], anchors: Anchors) -> None:
    """Check that the rules of a table match an example of it, or do not.

    Raises:
        RuleFileError: it is the other way round.
    """
    from policy.decide import matches_of  # noqa: PLC0415 - a run only needs it for examples

    source = group[0].source
    subject = Subject("shell", example, anchors.current, anchors.current, anchors.home,
                      surface="agent_shell")  # fmt: skip
    matched = bool(matches_of(subject, Rules(group)))
    if matched != expected:
        verb = "does not match" if expected else "matches"
        raise RuleFileError(
            source.path, source.line, f"rule {group[0].id!r} {verb} its example {example!r}",
            "Fix the rule or the example.",
        )  # fmt: skip
