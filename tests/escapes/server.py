"""A server in a process of its own, for attacks on, or under, the server itself."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import trio

from tests.escapes.arena import Arena

SERVER_S_MAX = 60
CHECKOUT = Path(__file__).parents[2]
SERVER = """\
import os, sys
from pathlib import Path
{before}
import trio
from executor import Caller, Limits, Profile, Request, RequestError, Settings, Status, open_engine

async def main():
    async with open_engine(
        project=Path({project!r}), state_dir=Path({state!r}), rules=None, home=Path({home!r}),
        settings=Settings(isolation={isolation!r}, runtime={runtime!r}),
    ) as executor:
{body}

trio.run(main)
"""


def server_program(arena: Arena, before: str, body: str, project: Path | None = None) -> str:
    """A program that does something, then opens an executor on the arena's project and uses it."""
    return SERVER.format(
        before=textwrap.dedent(before),
        body=textwrap.indent(textwrap.dedent(body), " " * 8),
        project=str(project or arena.project),
        state=str(arena.state_dir),
        isolation=arena.settings.isolation,
        runtime=arena.settings.runtime,
        home=str(arena.home),
    )


async def in_a_server(arena: Arena, before: str, body: str, project: Path | None = None) -> str:
    """What it printed, errors included."""

    def start() -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-c", server_program(arena, before, body, project)],
            cwd=CHECKOUT,
            env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SERVER_S_MAX,
            check=False,
        )
        return done.stdout.decode(errors="replace")

    return await trio.to_thread.run_sync(start)
