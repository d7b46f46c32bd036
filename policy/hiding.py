"""The files that rules deny to be read: what a sandbox should hide, whoever asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.model import Decision
from policy.path_patterns import literal_path, match_path
from policy.paths import lies_in
from policy.rules import Rule, Rules


class HiddenPattern(NamedTuple):
    """A gitignore line, seen from `anchor` (None: from any folder)."""

    spec: str
    anchor: str | None


class HiddenPaths(NamedTuple):
    """What `Read` rules that deny name, below the folders asked about.

    `literal` are absolute paths that can be covered with all below them, whether they exist yet or
    not. `patterns` have to be looked for.
    """

    literal: tuple[str, ...] = ()
    patterns: tuple[HiddenPattern, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether a rule denies to read this absolute path."""
        if any(lies_in(path, hidden) for hidden in self.literal):
            return True
        return any(match_path(spec, anchor, path) for spec, anchor in self.patterns)


def find_hidden_paths(rules: Rules, roots: Sequence[str]) -> HiddenPaths:
    """What to hide of the folders `roots` (absolute: the project, and what else is shown).

    Only rules that deny count: who may be asked first is asked before the program starts.
    """
    literal: dict[str, None] = {}
    patterns: dict[HiddenPattern, None] = {}
    for rule in rules.of("read"):
        if rule.decision is not Decision.DENY:
            continue
        path = _find_plain_path(rule)
        if path is None:
            if rule.anchor is None or any(_overlap(rule.anchor, root) for root in roots):
                patterns[HiddenPattern(rule.spec, rule.anchor)] = None
        elif any(_overlap(path, root) for root in roots):
            literal[path] = None
    return HiddenPaths(tuple(literal), tuple(patterns))


def _find_plain_path(rule: Rule) -> str | None:
    """The path of a rule that names one; `Read(~/**)` names the home itself."""
    if rule.anchor is not None and rule.spec.strip("/") == "**":
        return rule.anchor.rstrip("/") or "/"
    return literal_path(rule.spec, rule.anchor)


def _overlap(first: str, second: str) -> bool:
    return lies_in(first, second) or lies_in(second, first)
