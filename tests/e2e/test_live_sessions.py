"""A live server notices new lines of transcripts (R12): by watching, else by looking again."""

import json
import re
import sqlite3
from contextlib import closing

import pytest
import trio

from ctxmode.config.locations import Config

from .test_mcp import connected

ID = "5e1f0000-0000-4000-8000-000000000001"
DEADLINE_S = 60


def say(place, number, text):
    row = {"type": "user", "uuid": f"u{number}", "sessionId": ID, "cwd": str(place.project),
           "timestamp": "2026-11-20T00:00:00Z", "message": {"content": text}}  # fmt: skip
    folder = place.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(place.project))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{ID}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


async def until_recorded(place, begin, number):
    """Wait until an event's text begins so; with a number, say so anew until it does: the watch may
    begin later than the first time."""
    store = Config(place.project, place.home, place.data).sessions_file
    asked = ("SELECT 1 FROM event WHERE text LIKE ? || '%'", (begin,))
    with trio.fail_after(DEADLINE_S), closing(sqlite3.connect(store)) as db:
        while not db.execute(*asked).fetchone():
            if number:
                say(place, number, f"{begin} {number}")
                number += 1
            await trio.sleep(0.5)


# With a poll of an hour only watching notices it.
@pytest.mark.parametrize("poll_ms", [3_600_000, 100])
async def test_r12_a_live_server_notices_new_lines(place, poll_ms):
    say(place, 1, "The first task")
    config = place.home / ".config" / "ctxmode" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[transcripts]\npoll_ms = {poll_ms}\n")
    assert place.run("sessions", "track").returncode == 0
    say(place, 2, "The second task")
    async with connected(place) as client:
        # A server opens the project with the first call.
        await client.call_tool("ctx_execute", {"language": "shell", "code": "true"})
        await until_recorded(place, "The second task", 0)  # by its first look
        await until_recorded(place, "The third task", 3)
