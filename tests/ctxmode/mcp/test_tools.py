"""The table of tools: names, prices, wording."""

import re
from pathlib import Path

import kb
from ctxmode.mcp import tools
from ctxmode.mcp.server import tool_list
from ctxmode.mcp.tools import TOOLS, list_offered

TOKENS_MAX = 3000
PARTS = ("WHEN:", "WHEN NOT:", "RETURNS:", "EXAMPLE:")
FORBIDDING = re.compile(
    r"\b(must not|never|do not|don't|forbidden|mandatory|prohibited|always)\b", re.I
)


def test_all_tools_are_there_under_the_names_that_agents_know():
    assert [tool.name for tool in TOOLS] == [
        "ctx_execute",
        "ctx_execute_file",
        "ctx_background",
        "ctx_batch_execute",
        "ctx_index",
        "ctx_fetch_and_index",
        "ctx_search",
        "ctx_purge",
        "ctx_changes",
        "ctx_stats",
        "ctx_doctor",
    ]


def test_the_whole_list_costs_less_than_three_thousand_tokens():
    wire = "".join(tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tool_list())
    assert kb.estimate_tokens(wire) < TOKENS_MAX


def test_changes_are_offered_where_staging_is_on():
    assert set(list_offered(staging=True)) - set(list_offered()) == {"ctx_changes"}


def test_descriptions_have_their_four_parts_in_order():
    for tool in TOOLS:
        places = [tool.description.find(part) for part in PARTS]
        assert places == sorted(places), tool.name
        assert places[0] == 0


def test_descriptions_invite_and_forbid_nothing():
    for tool in TOOLS:
        assert not FORBIDDING.search(tool.description), tool.name


def test_every_language_of_the_table_is_named_to_agents():
    from runtimes import LANGUAGES

    (execute,) = (tool for tool in TOOLS if tool.name == "ctx_execute")
    listed = re.search(r"Languages: ([^.]*)\.", execute.description)[1].split(", ")
    assert sorted(listed) == sorted(language.name for language in LANGUAGES)


def test_examples_are_valid_arguments():
    for tool in TOOLS:
        example = tool.description.partition("EXAMPLE: ")[2]
        tool.arguments.model_validate_json(example)


def test_tools_that_only_read_say_so():
    reading = {tool.name for tool in TOOLS if tool.annotations.read_only_hint}
    assert reading == {"ctx_search", "ctx_stats", "ctx_doctor"}


def test_every_tool_tells_the_shape_of_its_data():
    for tool in tool_list():
        assert tool.output_schema["type"] == "object", tool.name


def test_every_file_of_a_tool_is_in_the_table():
    files = {file.stem for file in Path(tools.__file__).parent.glob("*.py")} - {"__init__"}
    assert {name for name in files if vars(tools)[name].TOOL in TOOLS} == files
    assert len(files) == len(TOOLS)
