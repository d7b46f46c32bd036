"""The tables of verbs' arguments say what the rooms have."""

from __future__ import annotations

import pytest

from ctxmode import parsing
from ctxmode.commands.table import VERBS
from ctxmode.operations.fact_files import EXPORTS
from ctxmode.operations.session_actions import PARTS
from memory.facts import DEFAULT_BUDGET, MAIN, SCOPES
from memory.facts.importing import FORMS
from memory.facts.model import CATEGORIES, CONFIDENCES
from memory.pages import EVOLUTION_MAX, HISTORY_MAX, PAGE_TYPES
from memory.sessions import RESUME_BYTES, STATUSES
from memory.sessions.digesting import RESUME_BYTES_MIN


def find(verb: str, action: str, name: str):
    """Return one argument of an action, by its option or its destination."""
    parser = parsing.subparsers(parsing.verb_parser(VERBS[verb]))[action]
    (found,) = (a for a in parser._actions if name in a.option_strings or a.dest == name)
    return found


@pytest.mark.parametrize(
    ("verb", "action", "name", "choices"),
    [
        ("memory", "remember", "--category", CATEGORIES),
        ("memory", "remember", "--scope", SCOPES),
        ("memory", "recall", "--scope", SCOPES),
        ("memory", "export", "--format", tuple(EXPORTS)),
        ("memory", "import", "--format", FORMS),
        ("pages", "write", "--type", PAGE_TYPES),
        ("sessions", "list", "--status", STATUSES),
    ],
)
def test_choices_are_those_of_the_room(verb, action, name, choices):
    assert tuple(find(verb, action, name).choices) == tuple(choices)


@pytest.mark.parametrize(
    ("verb", "action", "name", "default"),
    [
        ("memory", "recall", "--budget", DEFAULT_BUDGET),
        ("memory", "branch", "base", MAIN),
        ("memory", "merge", "into", MAIN),
        ("sessions", "resume", "--budget", RESUME_BYTES),
    ],
)
def test_defaults_are_those_of_the_room(verb, action, name, default):
    assert find(verb, action, name).default == default


def test_what_help_says_of_numbers_is_what_they_are():
    assert find("pages", "log", "--limit").help == f"up to N entries (default: {HISTORY_MAX})"
    assert (
        find("pages", "evolution", "--limit").help == f"up to N versions (default: {EVOLUTION_MAX})"
    )
    assert "|".join(CONFIDENCES) in find("memory", "remember", "--confidence").help
    least = find("sessions", "resume", "--budget").type
    assert least(str(RESUME_BYTES_MIN)) == RESUME_BYTES_MIN
    assert f"{RESUME_BYTES_MIN} or more" in least.__name__
    with pytest.raises(ValueError, match=f"^{RESUME_BYTES_MIN - 1}$"):
        least(str(RESUME_BYTES_MIN - 1))


def test_each_part_of_a_session_has_its_word():
    for name, about in PARTS.items():
        assert find("sessions", "show", f"--{name}").help == about
