"""Log messages go to clients that ask for them, from their level on, in both eras of MCP."""

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.e2e.serving import OTHER, connected, served

TRUE = {"language": "shell", "code": "true"}

pytestmark = [
    pytest.mark.filterwarnings("ignore:The logging capability is deprecated"),
    # The SDK's client leaves its streams to the garbage collector.
    pytest.mark.filterwarnings("ignore:Async generator '(httpcore2|httpx2):ResourceWarning"),
]


async def messages(place, mode, level, *, tool="ctx_execute", given=TRUE):
    """What a client that asks for `level` is told during one call, and the call's answer."""
    heard = []

    async def note(params):
        heard.append(params)

    command, *arguments = place.command
    server = StdioServerParameters(
        command=command,
        args=[*arguments, "serve"],
        env=place.environment,
        cwd=place.project,
    )
    own = level if mode == "auto" else None
    async with Client(
        stdio_client(server), mode=mode, logging_callback=note, log_level=own
    ) as client:
        if level and mode == "legacy":
            await client.set_logging_level(level)
        return heard, await client.call_tool(tool, given)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_call_is_told_with_its_outcome_and_time(place, mode):
    heard, _ = await messages(place, mode, "info")
    assert [(one.level, one.logger) for one in heard] == [("info", "ctxmode.mcp.server")]
    assert heard[0].data.startswith("ctx_execute: ok in ")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("level", [None, "warning"])
async def test_who_asked_for_less_or_nothing_is_told_nothing(place, mode, level):
    heard, result = await messages(place, mode, level)
    assert heard == []
    assert not result.is_error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http_only_who_asked_is_told_and_of_its_own_calls_alone(place, mode):
    heard, nothing = [], []

    async def note(params):
        heard.append(params)

    async def note_nothing(params):
        nothing.append(params)

    own = "info" if mode == "auto" else None
    async with (
        served(place) as server,
        connected(server.url, mode=mode, logging_callback=note, log_level=own) as ada,
        connected(server.url, OTHER, mode=mode, logging_callback=note_nothing) as bob,
    ):
        if mode == "legacy":
            await ada.set_logging_level("info")
        assert not (await bob.call_tool("ctx_execute", TRUE)).is_error
        assert heard == []
        assert not (await ada.call_tool("ctx_execute", TRUE)).is_error
        assert [(one.level, one.logger) for one in heard] == [("info", "ctxmode.mcp.server")]
        assert heard[0].data.startswith("ctx_execute: ok in ")
        await bob.call_tool("ctx_stats", {})
        assert (len(heard), nothing) == (1, [])


async def test_over_http_a_level_can_be_changed_amid_a_conversation(place):
    heard = []

    async def note(params):
        heard.append(params.data.partition(" in ")[0])

    async with (
        served(place) as server,
        connected(server.url, mode="legacy", logging_callback=note) as client,
    ):
        for level in ("info", "error", "debug"):
            await client.set_logging_level(level)
            await client.call_tool("ctx_execute", TRUE | {"code": f"echo {level}"})
    assert heard == ["ctx_execute: ok"] * 2


async def test_what_was_amiss_is_told_beside_the_answer(place):
    await messages(place, "legacy", None)
    folder = place.data / "projects"
    (counts,) = folder.glob("*.usage.sqlite3")
    for file in folder.glob("*.usage.sqlite3*"):
        file.unlink()
    counts.mkdir()  # where nothing can be counted
    heard, result = await messages(place, "legacy", "warning")
    assert [one.level for one in heard] == ["warning"]
    assert heard[0].data.startswith("a call was not counted: ")
    assert not result.is_error
