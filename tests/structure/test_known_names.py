"""docs/names.md says what is called so here: each verb, option, tool and action of it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxmode import parsing
from ctxmode.commands.table import find_verb
from ctxmode.mcp import tools
from ctxmode.mcp.names import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "names.md").read_text()
SYSTEMS = ("Contexo", "CTXone", "ContextOS", "ctx0", "context-mode")
ROW = re.compile(r"^\| (?!there \|)(?P<there>[^|-].*?) \| (?P<here>.*) \|$", re.MULTILINE)
ROWS = [(found["there"], found["here"]) for found in ROW.finditer(PAGE)]
SPANS = [(there, span) for there, here in ROWS for span in re.findall(r"`([^`]+)`", here)]
COMMANDS = sorted({span for _, span in SPANS if span.startswith("context-mode ")})
TOOLS = sorted({span for _, span in SPANS if span.startswith("ctx_")})


def lacking(command: str) -> list[str]:
    """The words of a command that its verb does not have."""
    found = find_verb(command.split()[1:])
    if found is None:
        return command.split()[1:2]
    verb, words = found
    parser = parsing.verb_parser(verb)
    actions = parsing.subparsers(parser)
    while words and actions and not words[0].startswith("-"):
        action = words.pop(0)
        if action not in actions:
            return [action]
        parser, actions = actions[action], parsing.subparsers(actions[action])
    options = {name for each in parser._actions for name in each.option_strings}
    places = {
        choice
        for each in parser._actions
        if not each.option_strings
        for choice in each.choices or ()
    }
    return [word for word in words if word not in options | places]


def test_all_five_systems_have_a_table():
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == list(SYSTEMS)
    assert len(ROWS) == PAGE.count("\n| ") - 2 * len(SYSTEMS)
    assert len(COMMANDS) > 40
    assert len(TOOLS) > 20


@pytest.mark.parametrize("command", COMMANDS)
def test_every_verb_with_its_options_is_there(command):
    assert lacking(command) == []


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("context-mode packs", "packs"),
        ("context-mode pages upload", "upload"),
        ("context-mode pages push --feature", "--feature"),
    ],
)
def test_what_is_not_there_is_noticed(command, word):
    assert lacking(command) == [word]


@pytest.mark.parametrize("span", TOOLS)
def test_every_tool_with_its_action_is_there(span):
    name, _, action = span.partition(" ")
    assert name in tools.NAMES
    if action:
        assert action in tools.load(name).arguments.rows["action"]["one_of"]


def test_every_name_that_serve_lists_is_told_with_its_tool():
    for one in NAMES:
        rows = [here for there, here in ROWS if f"`{one.name}`" in there]
        ours = f"`{' '.join(filter(None, (one.tool, one.given.get('action'))))}`"
        assert any(ours in here for here in rows), one.name
