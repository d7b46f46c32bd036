"""Regular expressions do what they say on every Python that is served.

Before Python 3.11.5 a possessive repetition of a group went on from where its last try had failed,
not from where it began (github.com/python/cpython/issues/106052): an atomic group does not.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# The standard library has no other reader of expressions.
constants: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("base", "ctxmode", "executor", "fleet", "images", "kb"),
    *("memory", "policy", "repomap", "runtimes"),
)
REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT)
LOOKS = (constants.ASSERT, constants.ASSERT_NOT)
SINGLE = (constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN)


def modules() -> Iterator[ModuleType]:
    """Those that hold patterns; what runs in a cell or is a program of its own is left out."""
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            if re.search(r"^\w+ = re\.compile\(", file.read_text(), re.MULTILINE):
                yield importlib.import_module(
                    ".".join(file.relative_to(ROOT).with_suffix("").parts)
                )


PATTERNS = {
    f"{module.__name__}.{name}": value
    for module in modules()
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
}


def flatten(parts: Any) -> Iterator[tuple[Any, Any]]:
    for kind, of in parts:
        if kind is constants.SUBPATTERN:
            yield from flatten(of[3])
        else:
            yield kind, of


def inner(kind: Any, of: Any) -> list[Any]:
    """The expressions within a part of one."""
    if kind in REPEATS:
        return [of[2]]
    if kind is constants.ATOMIC_GROUP:
        return [of]
    if kind in LOOKS or kind is constants.BRANCH:
        return list(of[1]) if kind is constants.BRANCH else [of[1]]
    return []


def can_fail(kind: Any, of: Any) -> bool:
    if kind in REPEATS:
        return bool(of[0] > 0)
    if kind is constants.BRANCH:
        return all(any(can_fail(*part) for part in flatten(way)) for way in of[1])
    if kind is constants.ATOMIC_GROUP:
        return any(can_fail(*part) for part in flatten(of))
    return True


def fails_midway(parts: Any) -> bool:
    """Whether it can fail at a place that the matcher has noted behind its beginning: before a
    look, a choice or a repetition that others precede, and behind a repetition."""
    has_taken = has_noted = False
    for kind, of in flatten(parts):
        fails = can_fail(kind, of)
        is_simple = kind in REPEATS and [one for one, _ in of[2]][:2] in [[one] for one in SINGLE]
        notes = kind in REPEATS or kind in LOOKS or bool(inner(kind, of))
        if fails and (has_noted or (has_taken and notes)):
            return True
        if not is_simple and fails and any(map(fails_midway, inner(kind, of))):
            return True
        if kind in REPEATS and not is_simple and of[0] > 1:
            return True
        has_noted |= kind in REPEATS or kind is constants.ATOMIC_GROUP or (has_taken and notes)
        has_taken |= kind not in LOOKS and kind is not constants.AT
    return False


def is_risky(parts: Any) -> bool:
    return any(
        (kind is constants.POSSESSIVE_REPEAT and fails_midway(of[2]))
        or any(map(is_risky, inner(kind, of)))
        for kind, of in flatten(parts)
    )


@pytest.mark.parametrize(
    ("expression", "risky"),
    [
        (r"[^:]+(?::(?!\s|$)[^:]*+)*+:", True),
        (r"[^:]+(?>(?::(?!\s|$)[^:]*)*):", False),
        (r"(?:[^{}]++|\{[^{}]*+\})*+", True),
        (r'"(?:[^"\\]++|\\.)*+"', False),
        (r"[a-z]++(?:[.][a-z]*+)*+", False),
        (r"(?:,[a-z]{2,})*+", True),
    ],
)
def test_the_check_knows_what_older_pythons_get_wrong(expression, risky):
    assert is_risky(parser.parse(expression)) is risky


@pytest.mark.parametrize("name", PATTERNS)
def test_no_possessive_group_can_fail_midway(name):
    pattern = PATTERNS[name]
    assert not is_risky(parser.parse(pattern.pattern, pattern.flags)), "make it an atomic group"
