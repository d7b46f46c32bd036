"""The skill is short, has the form of a skill, and its examples are calls that the tools take."""

from __future__ import annotations

import re

import pytest

from ctxmode.hosts import skill
from ctxmode.mcp.tools import NAMES, load


def test_the_text_is_short_and_has_the_form_of_a_skill():
    text = skill.skill_text()
    assert len(text.encode()) <= skill.BYTES_MAX
    head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", text)
    assert head
    assert head[1] == skill.NAME


def test_it_names_tools_that_there_are():
    assert set(re.findall(r"ctx_\w+", skill.skill_text())) <= set(NAMES)
    assert len(skill.EXAMPLES) == 3


@pytest.mark.parametrize(("question", "tool", "given"), skill.EXAMPLES)
def test_each_example_is_a_call_that_its_tool_takes(question, tool, given):
    arguments = load(tool).arguments
    assert question.endswith("?")
    assert set(given) <= set(arguments.model_fields)
    arguments.model_validate(given)


def test_a_call_with_an_argument_that_there_is_not_would_be_refused():
    arguments = load("ctx_execute").arguments
    with pytest.raises(ValueError, match="no_such"):
        arguments.model_validate({"language": "shell", "code": "ls", "no_such": 1})
