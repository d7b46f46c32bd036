"""Rules that name paths at a front, as rules for where its project lies at a worker. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policy.path_patterns import segment_meets
from policy.paths import lies_in
from policy.rules import Rule, Rules

_ALL = "/**"
_FOLDERS = "**"


def relocate(rules: Rules, project: str, here: str) -> Rules:
    """The rules of a front whose `project` lies `here`; both are absolute.

    A rule about the project, or about a folder around it, is one about the same files here. One
    about other places stays as it is, unless it would speak of the folders that lead `here`.
    """
    moved = tuple(one for rule in rules.rules for one in _relocate(rule, project, here))
    return rules._replace(rules=moved, untrusted=())


def _relocate(rule: Rule, project: str, here: str) -> Iterator[Rule]:
    if rule.kind not in ("read", "edit"):
        yield rule
        return
    if rule.anchor is not None and lies_in(rule.anchor, project):
        yield rule._replace(anchor=here + rule.anchor[len(project.rstrip("/")) :])
        return
    for spec in _inside(rule, project):
        yield rule._replace(anchor=here, spec=spec)
    if not any(spec == _ALL or _is_anchored(rule.spec) for spec in _inside(rule, here)):
        yield rule


def _inside(rule: Rule, folder: str) -> Iterator[str]:
    """What a rule, seen from none or from above a folder, says of what is in it."""
    anchor = (rule.anchor or "/").rstrip("/")
    if not lies_in(folder, anchor or "/"):
        return
    way = [name for name in folder[len(anchor) :].split("/") if name]
    if not _is_anchored(rule.spec):
        name = rule.spec.rstrip("/")
        is_met = name.strip("*") and any(segment_meets(name, one) for one in way)
        yield _ALL if is_met else rule.spec
        return
    named = (name for name in rule.spec.split("/") if name)
    names = [name if name.strip("*") or name == "*" else _FOLDERS for name in named]
    yield from dict.fromkeys(_rest(names, way, only_below=rule.spec.endswith("/")))


def _rest(names: Sequence[str], way: Sequence[str], *, only_below: bool) -> Iterator[str]:
    """What is left of a pattern once it has led all the way, in each way in which it can."""
    met = {0}
    for name in way:
        met = _with_skipped(names, met)
        if len(names) in met:
            yield _ALL
            return
        met = {
            at if names[at] == _FOLDERS else at + 1
            for at in met
            if names[at] == _FOLDERS or segment_meets(names[at], name)
        }
    for at in sorted(met):
        rest = names[at:]
        yield "/" + "/".join(rest) + "/" * only_below if rest else _ALL


def _with_skipped(names: Sequence[str], met: set[int]) -> set[int]:
    """With what follows a `**` that stands for no folder at all."""
    found = set(met)
    for at, name in enumerate(names):
        if at in found and name == _FOLDERS:
            found.add(at + 1)
    return found


def _is_anchored(spec: str) -> bool:
    """Whether a pattern says where it begins; else it is a name, at any depth."""
    return "/" in spec.rstrip("/")
