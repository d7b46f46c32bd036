"""Figures are the same at a terminal and for agents; of all projects they are for people alone."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
import trio

from base.stores.sqlite_files import connect_read_only
from ctxmode.config.locations import load_config
from ctxmode.operations.usage import Counts, list_runs, record
from tests.ctxmode.projects import answer, call, compaction, make_transcript, prompt

from .test_mcp import connected, text

SECOND = "bbbb0000-0000-4000-8000-000000000002"
ELSEWHERE = ("sessions", "list"), ("kept", "stats", "--tokens"), ("search", "heliotrope")


@pytest.fixture
def other(place, tmp_path):
    """Another project of the same user, with a session and a page that name a rare word."""
    project = place.home / "other"
    (project / ".git").mkdir(parents=True)
    (project / "note.md").write_text("# Colours\n\nThe heliotrope fence was painted twice.\n")
    make_transcript(
        place.home, project, SECOND,
        prompt("Paint the heliotrope fence."), answer("Painted.", output_tokens=7),
    )  # fmt: skip
    there = replace(place, project=project)
    assert there.run("sessions", "track").returncode == 0
    assert there.run("index", "note.md").returncode == 0
    return there


async def test_the_verb_and_the_tool_give_the_same_numbers(place):
    async with connected(place) as client:
        for language, code in (("shell", "cat app.log"), ("shell", "exit 3")):
            await client.call_tool("ctx_execute", {"language": language, "code": code})
        await client.call_tool("ctx_search", {"queries": ["request"]})
        shell = await trio.to_thread.run_sync(lambda: place.run("kept", "stats", "--json"))
        lines = await trio.to_thread.run_sync(lambda: place.run("kept", "stats"))
        result = await client.call_tool("ctx_stats", {})
    at_terminal, for_agents = json.loads(shell.stdout), result.structured_content
    same = ("tools", "total", "tokens_kept", "token_estimator", "formula")
    assert {name: at_terminal[name] for name in same} == {name: for_agents[name] for name in same}
    assert at_terminal["on_disk"]["projects"] == for_agents["on_disk"]["projects"] == 1
    total = for_agents["total"]
    assert total["kept"] == total["produced"] - total["returned"]
    assert total["reduction"] == total["kept"] / total["produced"]
    share = f"{total['reduction']:.0%}"
    assert f"reduction {share}" in text(result)
    assert share.encode() in lines.stdout


async def test_each_run_of_a_server_is_listed_with_how_it_ended(place):
    async with connected(place) as client:
        for code in ("cat app.log", "exit 3"):
            await client.call_tool("ctx_execute", {"language": "shell", "code": code})
    config = load_config(str(place.project), environ=place.environment)
    with closing(connect_read_only(config.usage_file)) as db:
        latest, first = list_runs(db)
    assert (first.status, first.exit_code, first.language) == ("ok", 0, "shell")
    assert first.stdout_bytes == (place.project / "app.log").stat().st_size
    assert (latest.status, latest.exit_code, latest.decision) == ("nonzero_exit", 3, "allow")
    assert place.run("run", "shell", "-c", "true").returncode == 0
    with closing(connect_read_only(config.usage_file)) as db:
        assert len(list_runs(db)) == 2  # a single run opens no database for it


async def test_r15_a_model_in_one_project_reads_no_other(place, other):
    async with connected(place) as client:
        for tool in (await client.list_tools()).tools:
            assert "everywhere" not in json.dumps(tool.model_dump(mode="json"))
        for tool, arguments in (
            ("ctx_search", {"queries": ["heliotrope"]}),
            ("ctx_stats", {}),
            ("ctx_search", {"queries": ["heliotrope"], "everywhere": True}),
            ("ctx_stats", {"everywhere": True}),
        ):
            result = await client.call_tool(tool, arguments)
            assert "fence" not in text(result)
            assert result.is_error is bool(arguments.get("everywhere"))


@pytest.mark.parametrize("words", ELSEWHERE)
def test_r15_a_person_sees_other_projects_only_where_they_ask(place, other, words):
    def show(*more):
        shown = place.run(*words, "--json", *more)
        assert shown.returncode == 0
        return shown.stdout

    assert not {b"heliotrope fence", b"claude_code"} & {
        one for one in (b"heliotrope fence", b"claude_code") if one in show()
    }
    assert b"heliotrope" in show("--everywhere") or b'"output_tokens": 7' in show("--everywhere")


def test_r15_the_five_queries_are_a_verb_or_an_option_each(place):
    for number in range(22):
        make_transcript(
            place.home, place.project, f"{number:08d}-0000-4000-8000-000000000000",
            prompt(f"Do thing {number}."),
            call("Bash", number, {"command": "make"}, failed=number == 0, output_tokens=number),
            compaction(f"Summary {number}.", before=100 + number),
            ago_s=1000 - 10 * number,
        )  # fmt: skip
    assert place.run("sessions", "track").returncode == 0

    def ask(*words):
        return json.loads(place.run("sessions", *words, "--json").stdout)

    titles = [one["title"] for one in ask("list")["sessions"]]
    assert titles == [f"Do thing {number}." for number in range(21, 1, -1)]
    assert (
        len(ask("list", "--agent", "claude_code", "--status", "active", "--all")["sessions"]) == 22
    )
    assert ask("list", "--agent", "codex")["sessions"] == []
    shown = ask("show", "00000000")
    assert [one["role"] for one in shown["messages"]] == [
        "user", "tool_call", "tool_result", "system",
    ]  # fmt: skip
    assert (shown["tools"][0]["calls"], shown["tools"][0]["errors"]) == (1, 1)
    assert [one["tokens_before"] for one in shown["compactions"]] == [100]
    (bash,) = ask("tools")["tools"]
    assert (bash["calls"], bash["errors"]) == (22, 1)
    assert bash["average_output_tokens"] == sum(range(22)) / 22
    points = ask("compactions", "--all")["compactions"]
    assert [one["summary"] for one in points] == [f"Summary {n}." for n in range(21, -1, -1)]
    assert len(ask("compactions")["compactions"]) == 20
    for words in (("list",), ("show", "00000000", "--messages"), ("tools",), ("compactions",)):
        told = place.run("sessions", *words)
        assert told.returncode == 0
        assert told.stdout


def test_r6_calls_of_all_projects_are_named_by_project(place, other):
    for one, produced in ((place, 1000), (other, 500)):
        config = load_config(str(one.project), environ=one.environment)
        record(config.usage_file, ("ctx_execute", Counts(1, 0, produced, 100)))
    here = json.loads(place.run("kept", "stats", "--json").stdout)
    assert (here["total"]["produced"], "projects" in here) == (1000, False)
    data = json.loads(place.run("kept", "stats", "--everywhere", "--json").stdout)
    assert data["projects"]["other"]["reduction"] == 0.8
    assert data["total"]["kept"] == sum(one["kept"] for one in data["projects"].values()) == 1300
    assert b"other" in place.run("kept", "stats", "--everywhere").stdout
