"""What clients send, and what the tools make of it."""

import json

import pytest

from ctxmode.errors import UsageError
from ctxmode.mcp import tools
from ctxmode.operations.searching import SEARCH_BYTES_MAX
from docs.tool_list import input_schema
from kb.tokens import BYTES_PER_TOKEN
from memory.facts import DEFAULT_BUDGET, MAIN, SCOPES
from memory.pages import PAGE_TYPES
from repomap.model import BUDGET

BatchArguments = tools.load("ctx_batch_execute").arguments
ExecuteArguments = tools.load("ctx_execute").arguments
ExecuteFileArguments = tools.load("ctx_execute_file").arguments
IndexArguments = tools.load("ctx_index").arguments
NoArguments = tools.load("ctx_stats").arguments
SearchArguments = tools.load("ctx_search").arguments


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        (["a", "b"], ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        (' ["a"] ', ["a"]),
        ("a", ["a"]),
        ("[not json", ["[not json"]),
    ],
)
def test_queries_come_as_lists_as_json_text_or_as_one_string(sent, understood):
    assert [
        one.strip() for one in SearchArguments.validate({"queries": sent}).queries
    ] == understood


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        ([{"label": "x", "command": "ls"}], [("x", "ls")]),
        (["ls", "pwd"], [("cmd_1", "ls"), ("cmd_2", "pwd")]),
        ('["ls"]', [("cmd_1", "ls")]),
        ('[{"command": "ls"}]', [("cmd_1", "ls")]),
        ('{"command": "ls"}', [("cmd_1", "ls")]),
        ({"label": "", "command": "ls"}, [("cmd_1", "ls")]),
        ("ls -la", [("cmd_1", "ls -la")]),
        ("{ ls; pwd; }", [("cmd_1", "{ ls; pwd; }")]),
        (["ls", {"label": "x", "command": "id"}], [("cmd_1", "ls"), ("x", "id")]),
    ],
)
def test_commands_come_as_objects_as_strings_and_as_json_text(sent, understood):
    given = BatchArguments.validate({"commands": sent})
    assert [(one.label, one.command) for one in given.commands] == understood


@pytest.mark.parametrize(
    ("sent", "understood"),
    [(["a", "b"], ["a", "b"]), ('["a", "b"]', ["a", "b"]), ("a", ["a"]), ("", [])],
)
def test_lists_within_commands_come_as_freely_as_others(sent, understood):
    given = BatchArguments.validate({"commands": [{"command": "ls", "packages": sent}]})
    assert given.commands[0].packages == understood


@pytest.mark.parametrize(
    ("model", "sent", "name", "value"),
    [
        (ExecuteArguments, {"language": "x", "code": "y", "timeout": "5000"}, "timeout", 5000),
        (
            ExecuteArguments,
            {"language": "x", "code": "y", "background": "true"},
            "background",
            True,
        ),
        (
            ExecuteArguments,
            {"language": "x", "code": "y", "background": "false"},
            "background",
            False,
        ),
        (SearchArguments, {"queries": "q", "limit": "7"}, "limit", 7),
        (BatchArguments, {"commands": "ls", "concurrency": "4"}, "concurrency", 4),
        (IndexArguments, {"path": "x", "respectGitignore": "false"}, "respectGitignore", False),
        (IndexArguments, {"path": "x", "extensions": '[".md"]'}, "extensions", [".md"]),
    ],
)
def test_numbers_and_booleans_come_as_strings_too(model, sent, name, value):
    assert getattr(model.validate(sent), name) == value


@pytest.mark.parametrize(
    ("model", "sent", "said"),
    [
        (ExecuteArguments, {}, "- language: is required"),
        (ExecuteArguments, {"lang": "x", "code": ""}, "did you mean language?"),
        (
            ExecuteArguments,
            {"language": "x", "code": "y", "zzz": 1},
            "- zzz: is unknown; remove it",
        ),
        (ExecuteArguments, {"language": "x", "code": "y", "timeout": 0}, "must be a number > 0"),
        (ExecuteArguments, {"language": "x", "code": "y", "timeout": "soon"}, "- timeout:"),
        (ExecuteArguments, {"language": "x", "code": 5}, "- code: must be text"),
        (ExecuteArguments, {"language": "x", "command": "y"}, "did you mean code?"),
        (ExecuteArguments, {"Language": "x", "code": "y"}, "did you mean language?"),
        (ExecuteFileArguments, {"file": "x", "language": "y"}, "did you mean path?"),
        (BatchArguments, {"cmd": "ls"}, "did you mean commands?"),
        (SearchArguments, {"q": "x"}, "did you mean queries?"),
        (SearchArguments, {"queries": []}, "- queries:"),
        (SearchArguments, {"queries": ["x", " "]}, "- queries.1:"),
        (SearchArguments, {"queries": "x" * 2001}, "at most 2000 characters"),
        (BatchArguments, {"commands": ["ls"], "queries": [""]}, "- queries.0:"),
        (SearchArguments, {"queries": "q", "limit": 0}, "- limit:"),
        (BatchArguments, {"commands": []}, "- commands:"),
        (BatchArguments, {"commands": ["ls"], "concurrency": 65}, "- concurrency:"),
        (BatchArguments, {"commands": [{"label": "x"}]}, "- commands.0.command: is required"),
        (NoArguments, {"a": 1}, "no arguments"),
    ],
)
def test_arguments_that_cannot_be_used_are_explained_name_by_name(model, sent, said):
    with pytest.raises(UsageError) as caught:
        model.validate(sent)
    assert said in caught.value.message
    assert "`" not in caught.value.message


@pytest.mark.parametrize(
    "model",
    [ExecuteArguments, ExecuteFileArguments, BatchArguments, IndexArguments, SearchArguments],
)
def test_schemas_hold_nothing_that_only_costs_or_upsets_clients(model):
    schema = input_schema(model.rows)
    assert schema["type"] == "object"
    text = json.dumps(schema)
    for key in ("additionalProperties", "$ref", "$defs", "anyOf", '"title"', "const"):
        assert key not in text
    required = set(model.required)
    assert set(schema["required"]) == required if required else "required" not in schema


@pytest.mark.parametrize(
    ("tool", "name", "key", "value"),
    [
        ("ctx_search", "budget", "default", SEARCH_BYTES_MAX // BYTES_PER_TOKEN),
        ("ctx_pack", "budget", "default", BUDGET),
        ("ctx_memory", "budget", "default", DEFAULT_BUDGET),
        ("ctx_memory", "branch", "default", MAIN),
        ("ctx_memory", "scope", "one_of", [*SCOPES]),
        ("ctx_pages", "type", "one_of", [*PAGE_TYPES]),
    ],
)
def test_rows_say_what_the_rooms_have(tool, name, key, value):
    assert tools.read_rows()[tool]["arguments"][name][key] == value
