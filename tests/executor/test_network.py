"""The way out of a cell: closed, or open to named hosts, by checked names and addresses."""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from executor import Request, Settings, Status, network, open_executor
from executor.network import tls
from executor.profile import ANALYZE, Profile, ProjectAccess

ENTRIES = ("api.example.com", "*.example.org", "db.example.net:5432", "localhost:8080")


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("api.example.com", 443, True),
        ("api.example.com", 80, True),
        ("a.example.org", 443, True),
        ("a.b.example.org", 443, True),
        ("db.example.net", 5432, True),
        ("db.example.net", 443, False),
        ("api.example.com", 22, False),
        ("example.org", 443, False),
        ("example.com", 443, False),
        ("xapi.example.com", 443, False),
        ("api.example.com.evil.net", 443, False),
        ("evilexample.org", 443, False),
        ("evil.net\0.example.org", 443, False),
        ("api.example.com.", 443, False),
        ("API.example.com", 443, False),
        ("user@api.example.com", 443, False),
        ("api.example.com@evil.net", 443, False),
        ("evil.net#.example.org", 443, False),
        ("evil.net%00.example.org", 443, False),
        ("evil.net/.example.org", 443, False),
        ("evil.net\\.example.org", 443, False),
        ("evil.net .example.org", 443, False),
        ("-a.example.org", 443, False),
        ("..example.org", 443, False),
        (".example.org", 443, False),
        ("e\u0445ample.org", 443, False),
        ("127.0.0.1", 443, False),
        ("2130706433", 443, False),
        ("0x7f000001", 443, False),
        ("0177.0.0.1", 443, False),
        ("127.1", 443, False),
        ("[::1]", 443, False),
        ("[::ffff:127.0.0.1]", 443, False),
        ("localhost", 8080, False),
        ("x.localhost", 443, False),
        ("", 443, False),
    ],
)
def test_only_the_named_hosts_pass(host, port, allowed):
    assert (network.parse(ENTRIES).refuses(host, port) == "") is allowed


def test_an_empty_list_allows_nothing():
    assert network.parse(()).refuses("api.example.com", 443)
    assert not network.parse(()).is_open


@pytest.mark.parametrize(
    "entry",
    [
        "*",
        "*.com",
        "http://a.b",
        "a.b/",
        "A.b",
        "a.b:0",
        "a.b:x",
        "1.2.3.4",
        "localhost",
        "a b",
        "",
    ],
)
def test_a_loose_entry_is_an_error_that_says_what_to_write(entry):
    with pytest.raises(ValueError, match=r"write|port"):
        network.parse((entry,))


def client_hello(name: str | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("name", ["api.example.com", "a.b.example.org", None])
def test_the_server_name_is_read_from_a_real_hello(name):
    hello = client_hello(name)
    length = tls.record_length(hello[:5])
    assert length == len(hello) - 5
    assert tls.server_name(hello[5:]) == name


def test_no_cut_of_a_hello_is_taken_for_a_whole_one():
    record = client_hello("api.example.com")[5:]
    for end in range(len(record)):
        with pytest.raises(ValueError, match=r"ClientHello|unknown"):
            tls.server_name(record[:end])


async def echo(stream: trio.SocketStream) -> None:
    async with stream:
        while data := await stream.receive_some():
            await stream.send_all(b"ECHO:" + data)


@pytest.fixture
async def world(nursery) -> int:
    """A server that answers whatever name the test resolves to it: its port."""
    listeners = await nursery.start(functools.partial(trio.serve_tcp, echo, 0, host="127.0.0.1"))
    return listeners[0].socket.getsockname()[1]


@pytest.fixture
async def proxy(nursery, world) -> AsyncIterator[tuple[int, network.Gate]]:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    entries = (f"api.example.com:{world}", f"*.example.org:{world}")
    gate = network.Gate(network.parse(entries), resolver, lambda address: True)
    listener = trio.socket.socket()
    await listener.bind(("127.0.0.1", 0))
    listener.listen()
    nursery.start_soon(network.serve, listener, gate)
    return listener.getsockname()[1], gate


async def ask(port: int, sent: bytes, then: bytes = b"") -> bytes:
    with trio.fail_after(60):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(sent)
            answer = await stream.receive_some()
            if then and b"200" in answer:
                await stream.send_all(then)
                answer = await stream.receive_some()
            return answer


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode("latin-1")


async def test_a_named_host_is_reached_through_a_tunnel(proxy, world):
    port, gate = proxy
    hello = client_hello("api.example.com")
    assert await ask(port, connect("api.example.com", world), hello) == b"ECHO:" + hello
    assert [(c.host, c.allowed) for c in gate.connections] == [("api.example.com", True)]


@pytest.mark.parametrize("name", ["evil.example.com", "x.example.org", None])
async def test_a_tunnel_can_not_be_used_for_another_name(name, proxy, world):
    port, gate = proxy
    answer = await ask(port, connect("api.example.com", world), client_hello(name))
    assert b"ECHO" not in answer
    assert not gate.connections[-1].allowed
    assert "TLS asks for" in gate.connections[-1].reason


async def test_a_tunnel_carries_only_tls(proxy, world):
    port, gate = proxy
    answer = await ask(port, connect("api.example.com", world), b"GET / HTTP/1.1\r\n\r\n")
    assert b"ECHO" not in answer
    assert gate.connections[-1].reason == "only TLS passes through a tunnel"


async def test_plain_http_passes_to_the_named_host(proxy, world):
    port, _ = proxy
    request = f"GET http://a.example.org:{world}/x HTTP/1.1\r\nHost: a.example.org:{world}\r\n\r\n"
    answer = await ask(port, request.encode())
    assert answer.startswith(b"ECHO:GET /x HTTP/1.1\r\n")
    assert b"connection: close" in answer


@pytest.mark.parametrize(
    "request_text",
    [
        "GET http://evil.net:{port}/ HTTP/1.1\r\nHost: evil.net:{port}\r\n\r\n",
        "GET http://a.example.org:{port}/ HTTP/1.1\r\nHost: evil.net\r\n\r\n",
        "GET http://a.example.org:{port}@evil.net/ HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "GET ftp://a.example.org/ HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "CONNECT evil.net:{port} HTTP/1.1\r\nHost: evil.net\r\n\r\n",
        "CONNECT a.example.org HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "CONNECT a.example.org:99999 HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "CONNECT a.example.org:22 HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
        "\x16\x03\x01 nonsense\r\n\r\n",
    ],
)
async def test_everything_else_is_refused_and_recorded(request_text, proxy, world):
    port, gate = proxy
    answer = await ask(port, request_text.format(port=world).encode("latin-1"))
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
    assert [c.allowed for c in gate.connections] == [False]


@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["169.254.169.254"], ["93.184.216.34", "10.0.0.1"]]
)
async def test_an_allowed_name_that_leads_inside_is_refused(answer, nursery):
    async def resolver(host: str, port: int) -> list[str]:
        return answer

    gate = network.Gate(network.parse(("api.example.com",)), resolver)
    listener = trio.socket.socket()
    await listener.bind(("127.0.0.1", 0))
    listener.listen()
    nursery.start_soon(network.serve, listener, gate)
    port = listener.getsockname()[1]
    assert (await ask(port, connect("api.example.com", 443))).startswith(b"HTTP/1.1 403")
    assert "not public" in gate.connections[0].reason


def profile(*entries: str) -> Profile:
    return Profile("online", ProjectAccess.COPY_ON_WRITE, network.parse(entries), floor="A")


async def run_online(project: Path, state_dir: Path, allowed: Profile, code: str):
    settings = Settings(profiles={"analyze": ANALYZE, "online": allowed})
    async with open_executor(
        project=project, state_dir=state_dir, rules=None, home=Path.home(), settings=settings
    ) as opened:
        with trio.fail_after(60):
            return (await opened.run(Request("python", code, profile="online"))).result


FETCH = """
import sys, urllib.request
for url in {urls!r}:
    try:
        print(urllib.request.urlopen(url, timeout=5).read(60))
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.tier_a
async def test_a_run_reaches_what_its_profile_names_and_is_told_of_the_rest(
    project, state_dir, nursery, monkeypatch
):
    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    listeners = await nursery.start(functools.partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    gate = functools.partial(network.Gate, resolver=resolver, address_allowed=lambda address: True)
    monkeypatch.setattr(network, "Gate", gate)
    urls = [f"http://api.example.com:{port}/", f"http://evil.net:{port}/"]
    allowed = profile(f"api.example.com:{port}")
    result = await run_online(project, state_dir, allowed, FETCH.format(urls=urls))
    assert result.stdout.text.splitlines() == ["b'hello'", "HTTPError HTTP Error 403: Refused"]
    assert [(c.host, c.allowed) for c in result.connections] == [
        ("api.example.com", True),
        ("evil.net", False),
    ]
    assert "api.example.com" in result.isolation.layers["network"].detail


@pytest.mark.tier_a
async def test_the_hosts_loopback_is_reached_only_on_the_named_port(project, state_dir, nursery):
    listeners = await nursery.start(functools.partial(trio.serve_tcp, echo, 0, host="127.0.0.1"))
    others = await nursery.start(functools.partial(trio.serve_tcp, echo, 0, host="127.0.0.1"))
    port, other = (found[0].socket.getsockname()[1] for found in (listeners, others))
    code = f"""
import socket
for port in ({port}, {other}):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
            s.sendall(b"hi"); print(s.recv(20))
    except OSError as error:
        print(type(error).__name__)
"""
    result = await run_online(project, state_dir, profile(f"localhost:{port}"), code)
    assert result.stdout.text.splitlines() == ["b'ECHO:hi'", "ConnectionRefusedError"]


async def test_without_a_profile_nothing_answers(run, nursery):
    listeners = await nursery.start(functools.partial(trio.serve_tcp, echo, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]
    code = f"""
import socket
for target in (("127.0.0.1", {port}), ("93.184.216.34", 80)):
    try:
        socket.create_connection(target, timeout=3); print("connected")
    except OSError as error:
        print(error.strerror)
"""
    result = await run("python", code)
    tier_a = ["Connection refused", "Network is unreachable"]
    expected = tier_a if result.isolation.tier == "A" else ["Permission denied"] * 2
    assert result.stdout.text.splitlines() == expected


async def test_a_profile_that_this_tier_can_not_honour_is_refused(project, state_dir):
    allowed = profile("api.example.com")
    result = await run_online(project, state_dir, allowed, "print('ran')")
    if result.isolation.tier == "A":
        assert result.status is Status.OK
    else:
        assert result.status is Status.SANDBOX_UNAVAILABLE
        assert "needs tier A" in result.message


@pytest.mark.tier_a
async def test_variables_and_paths_are_passed_through_by_profile_only(
    project, state_dir, tmp_path, monkeypatch
):
    monkeypatch.setenv("GH_TOKEN", "granted")
    monkeypatch.setenv("OTHER_TOKEN", "withheld")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shown = tmp_path / "home" / ".config" / "gh"
    shown.mkdir(parents=True)
    (shown / "hosts.yml").write_text("user: me\n")
    (tmp_path / "home" / ".config" / "other").write_text("withheld\n")
    allowed = Profile(
        "online", ProjectAccess.COPY_ON_WRITE, env=("GH_TOKEN",), read=("~/.config/gh",)
    )
    code = """
import os
home = os.environ["HOME"]
print(os.environ.get("GH_TOKEN"), os.environ.get("OTHER_TOKEN"))
print(os.listdir(home + "/.config"), open(home + "/.config/gh/hosts.yml").read())
try:
    open(home + "/.config/gh/new", "w")
except OSError as error:
    print(error.strerror)
"""
    result = await run_online(project, state_dir, allowed, code)
    assert result.stdout.text.splitlines() == [
        "granted None",
        "['gh'] user: me",
        "",
        "Read-only file system",
    ]
    assert "GH_TOKEN, ~/.config/gh" in result.isolation.layers["passed_through"].detail
