"""The table of tools: names, prices, wording."""

import json
import re
from pathlib import Path

import pytest

import kb.tokens
from ctxmode.mcp import server, tools
from ctxmode.mcp.server import reads_text_only
from ctxmode.mcp.tool import FETCHING_S
from ctxmode.mcp.tools import NAMES, list_offered
from docs import tool_list

TOKENS_MAX = 3300
"""What is served by default may cost so much, with room for the tools that are to come."""

SHARES = {
    "ctx_pack": 220,
    "ctx_session": 250,
    "ctx_changes": 150,
    "ctx_memory": 350,
    "ctx_pages": 330,
}
OTHERS_MAX = 2530
SESSION_FILTERS = ", kind:session, agent:codex, session:ID"
ROWS = tools.read_rows()
TOOLS = json.loads(server.FILE.read_bytes())
PARTS = ("WHEN:", "WHEN NOT:", "RETURNS:", "EXAMPLE:")
FORBIDDING = re.compile(
    r"\b(must not|never|do not|don't|forbidden|mandatory|prohibited|always)\b", re.I
)


def test_all_tools_are_there_under_the_names_that_agents_know():
    assert (
        [*ROWS]
        == [tool["name"] for tool in TOOLS]
        == [
            "ctx_execute",
            "ctx_execute_file",
            "ctx_background",
            "ctx_batch_execute",
            "ctx_index",
            "ctx_fetch_and_index",
            "ctx_search",
            "ctx_pack",
            "ctx_session",
            "ctx_memory",
            "ctx_pages",
            "ctx_purge",
            "ctx_changes",
            "ctx_stats",
            "ctx_doctor",
        ]
    )


def price(*names):
    rows = server.list_tools(names, "a program")["tools"]
    return kb.tokens.estimate_tokens(
        "".join(json.dumps(row, separators=(",", ":")) for row in rows)
    )


def test_what_is_served_by_default_costs_at_most_3300_tokens():
    assert price(*list_offered()) <= TOKENS_MAX
    assert price(*(name for name in list_offered() if name not in SHARES)) <= OTHERS_MAX


def test_sessions_cost_at_most_250_tokens_with_the_filters_of_the_search():
    assert SESSION_FILTERS in ROWS["ctx_search"]["description"]
    filters = kb.tokens.estimate_tokens(SESSION_FILTERS)
    assert price("ctx_session") + filters <= SHARES["ctx_session"]


def test_packs_cost_at_most_220_tokens():
    assert price("ctx_pack") <= SHARES["ctx_pack"]


def test_memory_costs_at_most_350_tokens():
    assert price("ctx_memory") <= SHARES["ctx_memory"]


def test_pages_which_are_served_where_they_are_begun_cost_at_most_330_tokens():
    assert price("ctx_pages") <= SHARES["ctx_pages"]
    assert set(list_offered(pages=True)) - set(list_offered()) == {"ctx_pages"}


def test_changes_which_are_served_where_staging_is_on_cost_at_most_150_tokens():
    assert price("ctx_changes") <= SHARES["ctx_changes"]


def test_hints_that_are_left_out_are_what_the_protocol_takes_for_granted():
    for tool in TOOLS:
        hints = tool["annotations"].items()
        assert not hints & tool_list.DEFAULT_HINTS.items(), tool["name"]
        assert tool["annotations"].keys() <= tool_list.DEFAULT_HINTS.keys()


def test_the_list_is_written_from_the_rows():
    assert server.FILE.read_text() == tool_list.text(), "run python docs/tool_list.py"


@pytest.mark.parametrize(
    ("client", "is_host"),
    [
        ("claude-code", True),
        ("codex-mcp-client", True),
        ("gemini-cli-mcp-client", True),
        ("qwen-cli-mcp-client-context-mode", True),
        ("@cline/core", True),
        ("copilot-cli", True),
        ("Visual Studio Code", True),
        ("mcp", False),
        ("zedd", False),
        ("", False),
    ],
)
def test_hosts_that_show_all_to_a_model_are_given_the_text_alone(client, is_host):
    (row,) = server.list_tools(["ctx_search"], client)["tools"]
    assert reads_text_only(client) is is_host
    assert ("outputSchema" in row) is not is_host


def test_changes_are_offered_where_staging_is_on():
    assert set(list_offered(staging=True)) - set(list_offered()) == {"ctx_changes"}


def test_descriptions_have_their_four_parts_in_order():
    for tool in TOOLS:
        places = [tool["description"].find(part) for part in PARTS]
        assert places == sorted(places), tool["name"]
        assert places[0] == 0


def test_descriptions_invite_and_forbid_nothing():
    for tool in TOOLS:
        assert not FORBIDDING.search(tool["description"]), tool["name"]


def test_every_language_of_the_table_is_named_to_agents():
    from runtimes import LANGUAGES

    (execute,) = (tool for tool in TOOLS if tool["name"] == "ctx_execute")
    listed = re.search(r"Languages: ([^.]*)\.", execute["description"])[1].split(", ")
    assert sorted(listed) == sorted(language.name for language in LANGUAGES)


def test_examples_are_valid_arguments():
    for tool in TOOLS:
        example = tool["description"].partition("EXAMPLE: ")[2]
        tools.load(tool["name"]).arguments.validate(json.loads(example))


def test_tools_that_only_read_say_so():
    reading = {tool["name"] for tool in TOOLS if tool["annotations"].get("readOnlyHint")}
    assert reading == {"ctx_search", "ctx_pack", "ctx_stats", "ctx_doctor"}


def test_every_tool_tells_the_shape_of_its_data():
    for tool in TOOLS:
        assert tool["outputSchema"]["type"] == "object", tool["name"]


def test_every_file_of_a_tool_is_in_the_table():
    files = {file.stem for file in Path(tools.__file__).parent.glob("*.py")} - {"__init__"}
    modules = {row.get("module", name.removeprefix("ctx_")) for name, row in ROWS.items()}
    assert files == modules
    assert set(NAMES) == set(ROWS)


@pytest.mark.parametrize("commands", [["true"], [{"command": "1", "packages": ["alpha"]}, "true"]])
def test_a_batch_that_fetches_packages_may_take_longer(commands):
    tool = tools.load("ctx_batch_execute")
    given = tool.arguments.validate({"commands": commands, "timeout": 1000})
    fetches = any(command.packages for command in given.commands)
    assert (tool.deadline_s(given) > FETCHING_S) is fetches
