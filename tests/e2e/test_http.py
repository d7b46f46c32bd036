"""The server over Streamable HTTP: real sockets, the SDK's client, and clients that misbehave."""

import contextlib
import os
import random
import re
import socket

import httpx2
import pytest
import trio

from ctxmode.mcp.http.serving import CONVERSATIONS_MAX
from tests.e2e.fuzz import fuzzed
from tests.e2e.serving import ALL_S_MAX, OTHER, TOKEN, connected, served
from tests.processes import DEADLINE_S, descriptors

HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
# By hand: CTXMODE_FUZZED_BODIES=10000 pytest -k no_body tests/e2e/test_http.py (minutes)
BODIES = int(os.environ.get("CTXMODE_FUZZED_BODIES", "1500"))
DESCRIPTORS_SPARE = 16
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def text(result) -> str:
    return result.content[0].text


async def remember(client, code):
    arguments = {"language": "python", "code": code, "session": "mine"}
    return await client.call_tool("ctx_execute", arguments)


async def test_tools_work_as_over_a_pipe(place):
    async with served(place) as server, connected(server.url) as client:
        assert "ctx_execute" in {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("ctx_execute", {"language": "shell", "code": "wc -l *.log"})
        assert text(result).startswith("2000 app.log\n")
        assert result.structured_content["exit_code"] == 0


async def test_one_token_holder_does_not_see_what_another_named(place):
    async with served(place) as server, connected(server.url) as ada:
        await remember(ada, "secret = 'of ada'")
        again = await remember(ada, "print(secret)")
        job = {"language": "shell", "code": "sleep 60", "background": True, "timeout": 60_000}
        handle = (await ada.call_tool("ctx_execute", job)).structured_content["handle"]
        async with connected(server.url, OTHER) as bob:
            other = await remember(bob, "print(secret)")
            known = await bob.call_tool("ctx_background", {})
            stolen = await bob.call_tool("ctx_background", {"handle": handle, "stop": True})
        still = await ada.call_tool("ctx_background", {"handle": handle})
    assert text(again).startswith("of ada\n")
    assert "NameError" in text(other)
    assert known.structured_content == {"background": []}
    assert stolen.is_error
    assert still.structured_content["running"]


# The SDK's HTTP client leaves its streams to the garbage collector.
@pytest.mark.filterwarnings("ignore:Async generator '(httpcore2|httpx2):ResourceWarning")
async def test_a_stream_that_broke_is_taken_up_where_it_was(place):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "ctx_execute", "arguments": {"language": "shell", "code": "echo hi"}}
    async with served(place) as server, httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        opened = await http.post(server.url, json=PING | {"method": "initialize", "params": hello})
        http.headers["MCP-Session-Id"] = opened.headers["mcp-session-id"]
        http.headers["MCP-Protocol-Version"] = "2025-11-25"
        sent = await http.post(server.url, json=PING | {"method": "tools/call", "params": call})
        opening, result = sent.text.replace("\r", "").strip().split("\n\n")
        assert set(opening.splitlines()) >= {"retry: 1000"}
        event = {"Last-Event-ID": re.search(r"^id: (\d+)$", opening, re.M)[1]}
        async with (
            http.stream("GET", server.url, headers=event) as again,
            contextlib.aclosing(again.aiter_lines()) as lines,
        ):
            async for line in lines:
                if line.startswith("data: {"):
                    break
        assert line in result.splitlines()


async def test_each_project_has_an_address_of_its_own(place, tmp_path):
    other = tmp_path / "second"
    other.mkdir()
    (other / "only-here.txt").write_text("x")
    async with served(place, "--also", other) as server:
        url = server.url.replace("/mcp", "/second/mcp")
        async with connected(server.url) as first, connected(url) as second:
            listing = {"language": "shell", "code": "ls"}
            here = text(await first.call_tool("ctx_execute", listing))
            there = text(await second.call_tool("ctx_execute", listing))
        async with httpx2.AsyncClient(headers=HEADERS) as http:
            missing = await http.post(server.url.replace("/mcp", "/third/mcp"), json=PING)
    assert "app.log" in here
    assert "app.log" not in there
    assert there.startswith("only-here.txt\n")
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
    ],
)
async def test_who_may_not_come_in_is_told_why(place, change, status):
    async with served(place) as server, httpx2.AsyncClient(headers=HEADERS | change) as http:
        answer = await http.post(server.url, json=PING)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((), b"200"),
        (("Origin: http://localhost", "Origin: https://evil.example"), b"400"),
        (("Host: localhost",), b"400"),
        ((f"Authorization: Bearer {OTHER}",), b"400"),
    ],
)
async def test_two_headers_where_one_decides_are_refused_in_words(place, lines, status):
    own = (f"Authorization: Bearer {TOKEN}", "Connection: close")
    async with served(place) as server:
        head = "\r\n".join(("GET /metrics HTTP/1.1", "Host: localhost", *own, *lines))
        with socket.create_connection(server.address, 10) as asking:
            asking.sendall(f"{head}\r\n\r\n".encode())
            answer = b"".join(iter(lambda: asking.recv(65536), b""))
    assert answer.split()[1] == status
    assert (b'{"error":' in answer) == (status != b"200")


async def test_a_token_with_a_full_house_leaves_room_for_another(place):
    start = PING | {
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    async with served(place) as server, httpx2.AsyncClient(headers=HEADERS, timeout=60) as ada:
        opened = [await ada.post(server.url, json=start) for _ in range(CONVERSATIONS_MAX)]
        surplus = await ada.post(server.url, json=start)
        session = {"Mcp-Session-Id": opened[0].headers["mcp-session-id"]}
        bobs = HEADERS | {"Authorization": f"Bearer {OTHER}"}
        async with httpx2.AsyncClient(headers=bobs, timeout=60) as bob:
            others = await bob.post(server.url, json=start)
            stolen = await bob.post(server.url, json=PING, headers=session)
        await ada.delete(server.url, headers=session)
        after = await ada.post(server.url, json=start)
    assert {answer.status_code for answer in opened} == {200}
    assert surplus.status_code == 429
    assert "ada has" in surplus.json()["error"]
    assert others.status_code == 200
    assert stolen.status_code == 404
    assert after.status_code == 200


async def test_health_is_open_and_metrics_are_not(place):
    async with served(place) as server:
        async with connected(server.url) as client:
            await client.call_tool("ctx_execute", {"language": "shell", "code": "true"})
        async with httpx2.AsyncClient() as http:
            health = await http.get(server.url.replace("/mcp", "/healthz"))
            closed = await http.get(server.url.replace("/mcp", "/metrics"))
            token = {"Authorization": f"Bearer {TOKEN}"}
            metrics = await http.get(server.url.replace("/mcp", "/metrics"), headers=token)
    assert health.json() == {"status": "ok"}
    assert closed.status_code == 401
    assert 'ctxmode_tool_calls_total{outcome="ok",tool="ctx_execute"} 1.0' in metrics.text


async def test_a_body_of_ten_megabytes_is_refused_and_the_next_call_served(place):
    async with served(place) as server, httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        large = await http.post(server.url, content=b"[" + b" " * 10_000_000)
        async with connected(server.url) as client:
            assert (await client.list_tools()).tools
    assert large.status_code == 413


async def test_clients_that_send_slowly_or_nothing_hold_nobody_up(place):
    async with served(place) as server:
        with contextlib.ExitStack() as stack:
            for head in (b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"):
                for _ in range(20):
                    slow = stack.enter_context(socket.create_connection(server.address, 10))
                    slow.sendall(head)
            async with connected(server.url) as client:
                result = await client.call_tool(
                    "ctx_execute", {"language": "shell", "code": "echo served"}
                )
    assert text(result).startswith("served\n")


async def test_a_hundred_clients_at_once_are_served(place):
    async with served(place) as server:
        answers = []

        async def one(number):
            async with connected(server.url) as client:
                code = {"language": "shell", "code": f"echo {number}"}
                answers.append(text(await client.call_tool("ctx_execute", code)).splitlines()[0])

        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(one, number)
    assert sorted(answers, key=int) == [str(number) for number in range(100)]


async def test_no_body_brings_it_down_and_none_is_left_unanswered(place):
    generator = random.Random(20)
    bodies = [fuzzed(generator) for _ in range(BODIES)]
    statuses = []
    async with served(place, all_s_max=max(ALL_S_MAX, BODIES / 10)) as server:
        async with connected(server.url) as client:
            assert (await client.list_tools()).tools
        before = descriptors(server.pid)

        async def send(mine):
            async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
                for body in mine:
                    version = generator.choice([{}, {"MCP-Protocol-Version": "2025-06-18"}])
                    statuses.append(await http.post(server.url, content=body, headers=version))

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(send, bodies[number::4])
        async with connected(server.url) as client:
            assert (await client.list_tools()).tools
        # What opened at the first use may stay; what each body opened may not.
        with trio.move_on_after(DEADLINE_S):
            while descriptors(server.pid) > before + DESCRIPTORS_SPARE:  # noqa: ASYNC110
                await trio.sleep(0.01)
        assert descriptors(server.pid) <= before + DESCRIPTORS_SPARE
    assert len(statuses) == len(bodies)
    assert {answer.status_code for answer in statuses} <= {200, 202, 400, 404, 406}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--port", "99999"], "invalid port 99999"),
        (["--host", "192.0.2.1"], "cannot listen"),
        (["--token-file", "/nowhere"], "/nowhere"),
        (["--certificate", "x.pem"], "need each other"),
        (["--also", "/nowhere"], "/nowhere"),
    ],
)
def test_what_cannot_be_served_is_told_and_ends(place, options, problem):
    done = place.run("serve", "--http", "--port", "0", *options)
    assert done.returncode in (1, 2)
    assert problem.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_options_of_http_are_not_taken_silently_without_it(place):
    done = place.run("serve", "--port", "1")
    assert done.returncode == 2
    assert b"--port needs --http" in done.stderr
