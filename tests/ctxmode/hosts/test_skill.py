"""The skill is short, has the form of a skill, and its examples are calls that the tools take."""

from __future__ import annotations

import json
import re

import pytest

from ctxmode.errors import UsageError
from ctxmode.hosts.instructions import SKILL_NAME, read_skill
from ctxmode.mcp.tools import NAMES, load

BYTES_MAX = 1500
EXAMPLES = re.findall(r"\n(.+)\n`(\w+)`\n```json\n(.+)\n```\n", read_skill())
"""A question, a tool and its arguments each."""


def test_the_text_is_short_and_has_the_form_of_a_skill():
    text = read_skill()
    assert len(text.encode()) <= BYTES_MAX
    head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", text)
    assert head
    assert head[1] == SKILL_NAME


def test_it_names_tools_that_there_are():
    assert set(re.findall(r"ctx_\w+", read_skill())) <= set(NAMES)
    assert len(EXAMPLES) == read_skill().count("```json") == 3


@pytest.mark.parametrize(("question", "tool", "given"), EXAMPLES)
def test_each_example_is_a_call_that_its_tool_takes(question, tool, given):
    arguments, values = load(tool).arguments, json.loads(given)
    assert question.endswith("?")
    assert set(values) <= set(arguments.rows)
    arguments.validate(values)


def test_a_call_with_an_argument_that_there_is_not_would_be_refused():
    arguments = load("ctx_execute").arguments
    with pytest.raises(UsageError, match="no_such"):
        arguments.validate({"language": "shell", "code": "ls", "no_such": 1})
