"""The MCP inspector's command line drives every tool, a process a call, in both eras of MCP.

It needs a node that is newer than what distributions have, so that comes from npm as well.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from tests.e2e.conftest import Place
from tests.e2e.every_tool import CALLS, judge
from tests.e2e.packages import installed
from tests.e2e.serving import TOKEN, served

LAUNCHER = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
AT_ONCE = 2
CONNECT_MS_MAX = 100_000
FAILED_TOOL = 5
"""How it exits when a tool's answer is an error."""


@dataclass(frozen=True)
class Inspector:
    folder: Path
    place: Place
    server: tuple[str, ...]

    async def ask(self, method, *options):
        """The result, and what was said beside it."""
        command = [
            self.folder / "node_modules/.bin/node", self.folder / LAUNCHER, "--cli", *self.server,
            "--format", "json", "--connect-timeout", str(CONNECT_MS_MAX),
            "--method", method, *options,
        ]  # fmt: skip
        done = await trio.run_process(
            command, capture_stdout=True, capture_stderr=True, check=False,
            env=self.place.environment, cwd=self.place.project,
        )  # fmt: skip
        said = done.stderr.decode()
        assert done.returncode in (0, FAILED_TOOL), (done.returncode, done.stdout, said)
        return json.loads(done.stdout)["result"], said

    async def tools(self):
        result, _ = await self.ask("tools/list")
        return [tool["name"] for tool in result["tools"]]

    async def answers(self):
        """To one call of every tool; later ones may need what earlier ones have kept."""
        found = {}
        turns = trio.CapacityLimiter(AT_ONCE)

        async def call(name):
            async with turns:
                options = ("--tool-name", name, "--tool-args-json", json.dumps(CALLS[name]))
                found[name], _ = await self.ask("tools/call", *options)

        await call("ctx_index")
        async with trio.open_nursery() as nursery:
            for name in CALLS:
                if name != "ctx_index":
                    nursery.start_soon(call, name)
        return found


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return installed("inspector", tmp_path_factory)


def over_a_pipe(folder, place):
    # Of its own environment the inspector hands on only what it knows.
    variables = [f"-e{name}={value}" for name, value in place.environment.items()]
    return Inspector(folder, place, (*variables, *place.command, "serve"))


async def test_every_tool_answers_over_a_pipe(place, folder):
    inspector = over_a_pipe(folder, place)
    judge(await inspector.tools(), await inspector.answers())


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_every_tool_answers_over_http(place, folder, era):
    async with served(place) as server:
        options = ("--header", f"Authorization: Bearer {TOKEN}", "--protocol-era", era)
        inspector = Inspector(folder, place, (server.url, "--transport", "http", *options))
        judge(await inspector.tools(), await inspector.answers())


async def test_every_schema_can_be_had_by_every_model(place, folder):
    inspector = over_a_pipe(folder, place)
    _, said = await inspector.ask("tools/list", "--strict")
    assert "Issue:" not in said
