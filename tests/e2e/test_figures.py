"""Figures are the same at a terminal and for agents; of all projects they are for people alone."""

import json
from dataclasses import replace

import pytest
import trio

from tests.ctxmode.projects import answer, make_transcript, prompt

from .test_mcp import connected, text

SECOND = "bbbb0000-0000-4000-8000-000000000002"
ELSEWHERE = ("sessions", "list"), ("stats", "--tokens"), ("search", "heliotrope")


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
        shell = await trio.to_thread.run_sync(lambda: place.run("stats", "--json"))
        lines = await trio.to_thread.run_sync(lambda: place.run("stats"))
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
