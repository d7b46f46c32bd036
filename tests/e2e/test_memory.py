"""Facts through real processes: a person who is asked, HTTP, and the tail of the ledger."""

from __future__ import annotations

import json
import signal
import subprocess

import httpx2
import pytest
import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import ElicitResult

from tests.e2e.conversing import connected, text
from tests.e2e.serving import TOKEN, served

DEADLINE_S = 110


def memory(place, *words):
    done = subprocess.run(
        [*place.command, "memory", *words, "--json"],
        cwd=place.project, env=place.environment, capture_output=True, check=True, text=True,
        timeout=DEADLINE_S,
    )  # fmt: skip
    return json.loads(done.stdout)


async def pin_by_agent(place, uid, answer, mode):
    """Let an agent pin; the answer, and what its person was asked."""
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        return answer

    command, *words = place.command
    server = StdioServerParameters(
        command=command, args=[*words, "serve", "--names", "ctxone"], env=place.environment,
        cwd=place.project,
    )  # fmt: skip
    callback = {"elicitation_callback": elicit} if answer is not None else {}
    with trio.fail_after(DEADLINE_S):
        async with Client(stdio_client(server), mode=mode, **callback) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            recalled = await client.call_tool("recall", {"topic": "kind"})
            assert "Be kind." in recalled.content[0].text
    server.args = [*words, "serve"]
    with trio.fail_after(DEADLINE_S):
        async with Client(stdio_client(server), mode=mode, **callback) as client:
            result = await client.call_tool("ctx_memory", {"action": "pin", "id": uid})
    assert {"remember", "recall", "prime"} <= names
    return result, asked


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("answer", "pinned"),
    [
        (ElicitResult(action="accept", content={"allow": True}), True),
        (ElicitResult(action="decline"), False),
        (None, False),
    ],
    ids=["agrees", "declines", "nobody"],
)
async def test_an_agent_pins_only_where_the_person_behind_it_agrees(place, mode, answer, pinned):
    uid = memory(place, "remember", "Be kind.", "--key", "kind")["id"]
    result, asked = await pin_by_agent(place, uid, answer, mode)
    assert result.is_error is not pinned
    assert ["Be kind." in one for one in asked] == ([] if answer is None else [True])
    assert memory(place, "show", uid)["pinned"] is pinned


HOSTILE = [
    {},
    {"action": "guess"},
    {"action": "remember"},
    {"action": "remember", "text": "\u200b\x00"},
    {"action": "remember", "text": "x" * (2 << 20)},
    {"action": "remember", "text": ["x"]},
    {"action": "remember", "text": "x", "key": "../x"},
    {"action": "remember", "text": "x", "key": "/etc/passwd"},
    {"action": "remember", "text": "x", "tags": [[[["x"]]]]},
    {"action": "remember", "text": "x", "confidence": "sure"},
    {"action": "remember", "text": "x", "ttl": "-1d"},
    {"action": "remember", "text": "x", "branch": "nope"},
    {"action": "remember", "text": "x", "pinned": True},
    {"action": "recall", "budget": 0},
    {"action": "recall", "budget": "lots"},
    {"action": "recall", "branch": "nope"},
    {"action": "show", "id": "mem-aaaaaaaa"},
    {"action": "forget", "id": "x\x00"},
    {"action": "pin", "id": "nope"},
    {"action": "blame"},
    {"action": "branch", "id": "../x"},
    {"action": "merge", "id": "nope"},
    {"action": "diff"},
    {"action": "prime"},
]


async def test_x12_bad_input_over_the_protocol_is_told_and_writes_nothing(place):
    async with connected(place) as client:
        for given in HOSTILE:
            refused = await client.call_tool("ctx_memory", given)
            shown = json.dumps(given)[:60]
            assert refused.is_error, shown
            assert text(refused).strip(), shown
            assert "Traceback" not in text(refused), shown
        log = await client.call_tool("ctx_memory", {"action": "log"})
        kept = await client.call_tool("ctx_memory", {"action": "remember", "text": "Be kind."})
    assert log.structured_content["changes"] == []
    assert not kept.is_error


async def test_facts_are_served_beside_the_protocol_with_the_same_tokens(place):
    async with served(place) as server, httpx2.AsyncClient(timeout=60) as http:
        base = server.url.removesuffix("/mcp") + "/api"
        assert (await http.get(f"{base}/memory")).status_code == 401
        http.headers["Authorization"] = f"Bearer {TOKEN}"
        told = await http.post(f"{base}/memory", json={"text": "Be kind.", "key": "kind"})
        assert told.status_code == 200
        found = (await http.get(f"{base}/memory", params={"q": "kind"})).json()
        assert found["facts"][0]["id"] == told.json()["id"]
        path = "%2Fmemory%2Fgeneral%2Fkind"
        assert (await http.get(f"{base}/memory/{path}/blame")).json()["changes"]
        assert (await http.delete(f"{base}/memory/{path}")).status_code == 200
    assert memory(place, "list")["facts"] == []


def test_the_tail_shows_what_is_written_until_it_is_interrupted(place):
    memory(place, "remember", "Of before.", "--key", "before")
    with subprocess.Popen(
        [*place.command, "memory", "tail", "--json"],
        cwd=place.project, env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as tail:  # fmt: skip
        assert tail.stderr is not None
        assert tail.stdout is not None
        assert "interrupted" in tail.stderr.readline()
        memory(place, "remember", "Of now.", "--key", "now")
        assert json.loads(tail.stdout.readline())["text"] == "Of now."
        memory(place, "remember", "Of the user.", "--scope", "user")
        assert json.loads(tail.stdout.readline())["text"] == "Of the user."
        tail.send_signal(signal.SIGINT)
        assert tail.wait(DEADLINE_S) == 130
        assert "Traceback" not in tail.stderr.read()
