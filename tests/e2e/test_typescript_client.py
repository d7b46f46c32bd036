"""Another SDK's client, which validates every answer against its schema, drives every tool."""

import json

import pytest
import trio

from tests.e2e.every_tool import CALLS, judge
from tests.e2e.packages import installed
from tests.e2e.serving import TOKEN, served


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The client's script, in a folder where its SDK is installed."""
    return installed("typescript_client", tmp_path_factory) / "client.mjs"


async def drive(client, **plan):
    calls = [{"name": name, "arguments": given} for name, given in CALLS.items()]
    command = ["node", client, json.dumps(plan | {"calls": calls})]
    done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    heard = json.loads(done.stdout)
    judge(heard["tools"], heard["answers"])


async def test_every_tool_answers_over_a_pipe(place, client):
    command, *arguments = place.command
    await drive(
        client,
        command=command,
        args=[*arguments, "serve"],
        env=place.environment,
        cwd=str(place.project),
    )


async def test_every_tool_answers_over_http(place, client):
    async with served(place) as server:
        await drive(client, url=server.url, token=TOKEN)
