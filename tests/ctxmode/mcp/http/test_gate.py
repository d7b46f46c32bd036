"""Who gets through to the tools over HTTP, and how long a body may take."""

import pytest
import trio

from ctxmode.mcp.http.gate import BODY_S_MAX, Gate

TOKEN = "a-token-of-enough-letters"
GOOD = {"host": "localhost:8765", "authorization": f"Bearer {TOKEN}"}
ADMITTED = (
    {TOKEN: "ada"},
    frozenset({"127.0.0.1", "localhost", "[::1]", "box.example"}),
    frozenset({"https://app.example"}),
)


async def never():
    await trio.sleep_forever()


async def ask(headers, *, path="/mcp", receive=never, more=()):
    """The status, and what the application saw if it was reached; `more` are further headers."""
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append((scope["user"].display_name if "user" in scope else None, await receive()))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in (*headers.items(), *more)]
    scope = {"type": "http", "path": path, "method": "POST", "headers": raw}
    await Gate(app, *ADMITTED)(scope, receive, send)
    return sent[0]["status"], seen


def whole_body():
    async def receive():
        return {"type": "http.request", "body": b"{}", "more_body": False}

    return receive


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"host": "127.0.0.1"}, 200),
        ({"host": "[::1]:8765"}, 200),
        ({"host": "box.example"}, 200),
        ({"host": "BOX.example:80"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:8765"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "https://app.example"}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "https://app.example.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": TOKEN}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": f"bearer  {TOKEN}"}, 200),
    ],
)
async def test_host_origin_and_token_are_all_demanded(change, status):
    got, seen = await ask(GOOD | change, receive=whole_body())
    assert got == status
    assert bool(seen) == (status == 200)
    if seen:
        assert seen[0][0] == "ada"


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("origin", "https://app.example", 400),
        ("origin", "https://evil.example", 400),
        ("host", "localhost:8765", 400),
        ("authorization", f"Bearer {TOKEN}", 400),
        ("content-type", "text/plain", 400),
        ("mcp-session-id", "x", 400),
        ("accept", "text/plain", 200),  # may be sent in several lines
    ],
)
async def test_a_header_that_decides_stands_there_once(name, value, status):
    whole = GOOD | {"origin": "https://app.example", "content-type": "x", "mcp-session-id": "y"}
    assert (await ask(whole, receive=whole_body()))[0] == 200
    got, seen = await ask(whole, receive=whole_body(), more=[(name, value)])
    assert (got, bool(seen)) == (status, status == 200)


async def test_health_needs_no_token_but_the_right_host():
    assert (await ask({"host": "localhost"}, path="/healthz", receive=whole_body()))[0] == 200
    assert (await ask({"host": "evil.example"}, path="/healthz", receive=whole_body()))[0] == 421


async def test_a_body_that_does_not_come_ends_as_if_its_sender_had_left(autojump_clock):
    before = trio.current_time()
    status, seen = await ask(GOOD)
    assert status == 200
    assert seen[0][1] == {"type": "http.disconnect"}
    assert trio.current_time() - before == pytest.approx(BODY_S_MAX)


async def test_a_body_in_drips_has_one_deadline_for_all(autojump_clock):
    async def drip():
        await trio.sleep(BODY_S_MAX / 4)
        return {"type": "http.request", "body": b"x", "more_body": True}

    drops = []

    async def app(scope, receive, send):
        while (message := await receive())["type"] == "http.request":
            drops.append(message["body"])
        await send({"type": "http.response.start", "status": 400, "headers": []})

    async def send(message):
        pass

    raw = [(name.encode(), value.encode()) for name, value in GOOD.items()]
    scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": raw}
    await Gate(app, *ADMITTED)(scope, drip, send)
    assert len(drops) in (3, 4)


async def test_a_client_that_waits_for_its_answer_is_not_hurried(autojump_clock):
    messages = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive():
        if messages:
            return messages.pop()
        await trio.sleep(10 * BODY_S_MAX)
        return {"type": "http.disconnect"}

    waited = []

    async def app(scope, receive, send):
        await receive()
        before = trio.current_time()
        await receive()
        waited.append(trio.current_time() - before)

    raw = [(name.encode(), value.encode()) for name, value in GOOD.items()]
    await Gate(app, *ADMITTED)(
        {"type": "http", "path": "/mcp", "method": "POST", "headers": raw}, receive, None
    )
    assert waited == [pytest.approx(10 * BODY_S_MAX)]
