"""Another SDK's client, which validates every answer against its schema, drives every tool."""

import fcntl
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import trio

from tests.e2e.serving import TOKEN, served

HERE = Path(__file__).parent / "typescript_client"
CALLS = {
    "ctx_execute": {"language": "shell", "code": "echo hello"},
    "ctx_execute_file": {
        "path": "app.log", "language": "python", "code": "print(len(FILE_CONTENT))"
    },
    "ctx_background": {},
    "ctx_batch_execute": {"commands": ["echo the needle"], "queries": ["needle"]},
    "ctx_index": {"path": "docs"},
    # Of this machine, which may not be fetched from: an answer all the same.
    "ctx_fetch_and_index": {"url": "http://127.0.0.1:1/"},
    "ctx_search": {"queries": ["retry"]},
    "ctx_stats": {},
    "ctx_purge": {"confirm": True, "source": "nothing is called so"},
    "ctx_doctor": {},
}  # fmt: skip


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The client's script, in a folder where its SDK is installed."""
    if shutil.which("npm") is None:
        pytest.skip("not applicable: npm is not here")
    # Workers of one test run share the folder above theirs.
    folder = tmp_path_factory.getbasetemp().parent / "typescript_client"
    with (folder.parent / "typescript_client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.copytree(HERE, folder)
            command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(command, cwd=folder, check=True, timeout=300, capture_output=True)
    return folder / "client.mjs"


async def drive(client, **plan):
    calls = [{"name": name, "arguments": given} for name, given in CALLS.items()]
    command = ["node", client, json.dumps(plan | {"calls": calls})]
    done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def judge(heard):
    assert sorted(heard["tools"]) == sorted(CALLS)
    failed = {name for name, answer in heard["answers"].items() if answer.get("isError")}
    assert failed == {"ctx_fetch_and_index"}
    assert heard["answers"]["ctx_execute"]["structuredContent"]["stdout"] == "hello\n"
    assert "the needle" in heard["answers"]["ctx_batch_execute"]["content"][0]["text"]
    assert "A retry waits" in heard["answers"]["ctx_search"]["content"][0]["text"]


async def test_every_tool_answers_over_a_pipe(place, client):
    command, *arguments = place.command
    heard = await drive(
        client,
        command=command,
        args=[*arguments, "serve"],
        env=place.environment,
        cwd=str(place.project),
    )
    judge(heard)


async def test_every_tool_answers_over_http(place, client):
    async with served(place) as server:
        judge(await drive(client, url=server.url, token=TOKEN))
