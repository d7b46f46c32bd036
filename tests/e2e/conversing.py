"""A conversation with the server over a real pipe, by the SDK's client."""

from contextlib import asynccontextmanager

import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ALL_S_MAX = 110


@asynccontextmanager
async def connected(place, mode="auto", **environment):
    """The client of a server that was started for `place`."""
    command, *arguments = place.command
    server = StdioServerParameters(
        command=command,
        args=[*arguments, "serve"],
        env=place.environment | environment,
        cwd=place.project,
    )
    with trio.fail_after(ALL_S_MAX):
        async with Client(stdio_client(server), mode=mode) as client:
            yield client


def text(result) -> str:
    """The one block of text of an answer."""
    (block,) = result.content
    return block.text
