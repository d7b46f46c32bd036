"""Pages through a real server: an agent that knows Contexo's names distils its session."""

from __future__ import annotations

import json
import subprocess

import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

DEADLINE_S = 110
TURN = {"session": "s1", "user": "Why pause?", "assistant": "Because servers recover."}


def pages(place, *words, given=None):
    done = subprocess.run(
        [*place.command, "pages", *words, "--json"],
        cwd=place.project, env=place.environment, capture_output=True, check=True, text=True,
        timeout=DEADLINE_S, input=given,
    )  # fmt: skip
    return json.loads(done.stdout)


async def test_c19_the_tool_is_listed_as_soon_as_pages_are_begun(place):
    command, *words = place.command
    server = StdioServerParameters(
        command=command, args=[*words, "serve"], env=place.environment, cwd=place.project
    )
    with trio.fail_after(DEADLINE_S):
        async with Client(stdio_client(server)) as client:

            async def names():
                return {tool.name for tool in (await client.list_tools()).tools}

            assert "ctx_pages" not in await names()
            refused = await client.call_tool("ctx_pages", {"action": "status"})
            assert refused.is_error
            assert "context-mode pages init" in refused.content[0].text
            pages(place, "init")
            assert "ctx_pages" in await names()
            assert not (await client.call_tool("ctx_pages", {"action": "status"})).is_error


async def test_c6_c8_c19_a_session_is_distilled_by_contexos_names_and_ours(place):
    pages(place, "init")
    assert pages(place, "capture", "turn", given=json.dumps(TURN))["kept"]
    command, *words = place.command
    server = StdioServerParameters(
        command=command, args=[*words, "serve", "--names", "contexo"], env=place.environment,
        cwd=place.project,
    )  # fmt: skip
    with trio.fail_after(DEADLINE_S):
        async with Client(stdio_client(server)) as client:

            async def call(tool, **given):
                result = await client.call_tool(tool, given)
                assert not result.is_error, result.content[0].text
                return result.content[0].text

            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"ctx_write_page", "ctx_push", "ctx_capture_session"} <= names
            assert "ctx_pages" not in names
            body = "## Why\n\nServers recover.\n"
            await call("ctx_write_page", slug="pause", type="concept", body=body, tags=["http"])
            paused = await call("ctx_push")
            assert paused.startswith("<PUSH_PAUSED reason=distill_required>")
            assert "Because servers recover." in paused
            # What a pause says to call is our own tool, which is not listed here.
            await call("ctx_pages", action="write", type="source", slug="why", text="## Decision")
            await call("ctx_pages", action="push", distill_done=True, source_slug="why")
            read = await client.read_resource("ctx://wiki/pause")
    assert "- why" in read.contents[0].text
    assert {page["slug"] for page in pages(place, "list")["pages"]} == {"pause", "why"}
    assert pages(place, "capture", "status")["buffers"] == []
    assert len(pages(place, "log")["commits"]) == 1
