"""A server over HTTP, in a process of its own, and the SDK's client of it."""

import re
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import trio
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "a-token-of-enough-letters"
OTHER = "another-token-of-enough-letters"
START_S_MAX = 60
ALL_S_MAX = 240


@dataclass(frozen=True)
class Served:
    url: str
    pid: int

    @property
    def address(self):
        host, port = re.fullmatch(r"http://([\d.]+):(\d+)/mcp", self.url).groups()
        return host, int(port)


@asynccontextmanager
async def connected(url, token=TOKEN, mode="auto", **options):
    """A client; `options` are those of the SDK."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


@asynccontextmanager
async def served(place, *options, all_s_max=ALL_S_MAX):
    """A server of its own in another process; it must end in good order when asked to."""
    tokens = place.data.parent / "tokens"
    tokens.write_text(f"ada {TOKEN}\nbob {OTHER}\n")
    tokens.chmod(0o600)
    process = subprocess.Popen(
        [*place.command, "serve", "--http", "--port", "0", "--token-file", tokens, *options],
        cwd=place.project, env=place.environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with trio.fail_after(START_S_MAX):
            line = await trio.to_thread.run_sync(process.stderr.readline, abandon_on_cancel=True)
        with trio.fail_after(all_s_max):
            yield Served(re.search(r" at (http://\S+)$", line)[1], process.pid)
    finally:
        process.terminate()
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 128 + 15, rest
    assert "Traceback" not in rest
