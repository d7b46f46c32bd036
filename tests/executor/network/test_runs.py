"""The way out of a cell: closed, or open to named hosts, by checked names and addresses."""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
import trio.testing

from executor import Request, Settings, Status, network, open_engine
from executor.network import tls
from executor.network.allowlist import HostRule
from executor.network.proxy import CONNECTIONS_MAX
from executor.request import ANALYZE, Profile, ProjectAccess

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
async def proxy(nursery, world) -> AsyncIterator[tuple[int, network.ProxyGate]]:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    entries = (f"api.example.com:{world}", f"*.example.org:{world}")
    gate = network.ProxyGate(network.parse(entries), resolver, lambda address: True)
    return await proxied(gate, nursery), gate


async def proxied(
    gate: network.ProxyGate, nursery: trio.Nursery, forwarded: int | None = None
) -> int:
    """The port on which the proxy listens, or what forwards to a port of this machine."""
    listener = trio.socket.socket()
    await listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    if forwarded is None:
        nursery.start_soon(network.serve, listener, gate)
    else:
        nursery.start_soon(network.forward, listener, forwarded, gate)
    return listener.getsockname()[1]


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

    gate = network.ProxyGate(network.parse(("api.example.com",)), resolver)
    port = await proxied(gate, nursery)
    assert (await ask(port, connect("api.example.com", 443))).startswith(b"HTTP/1.1 403")
    assert "not public" in gate.connections[0].reason


ADMITTED = "POST http://a.example.org:{port}/x HTTP/1.1\r\nHost: a.example.org:{port}\r\n"
HIDDEN = "GET /secret HTTP/1.1\r\nHost: evil.net\r\n\r\n"
# What follows the one request that was checked, and what the server is to see of the body.
SMUGGLED = {
    "behind a body": (ADMITTED + "Content-Length: 2\r\n\r\nhi" + HIDDEN, b"hi"),
    "behind no body": (ADMITTED + "\r\n" + HIDDEN, b""),
    "behind the last chunk": (
        ADMITTED + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + HIDDEN,
        b"2\r\nhi\r\n0\r\n\r\n",
    ),
    "behind a chunked body that claims a length, too": (
        ADMITTED
        + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        + HIDDEN,
        b"2\r\nhi\r\n0\r\n\r\n",
    ),
    "behind an upgrade": (ADMITTED + "Upgrade: h2c\r\n\r\n" + HIDDEN, b""),
}


async def recorded(stream: trio.SocketStream, said: bytearray) -> None:
    """A server that takes every byte, whatever it was told of the connection's end."""
    async with stream:
        async for chunk in stream:
            said += chunk


@pytest.mark.parametrize(("sent", "body"), SMUGGLED.values(), ids=SMUGGLED)
async def test_behind_the_checked_request_no_other_passes(sent, body, nursery):
    """Another host could be asked in it: many a server answers for many names."""
    said = bytearray()
    listeners = await nursery.start(
        functools.partial(
            trio.serve_tcp, functools.partial(recorded, said=said), 0, host="127.0.0.1"
        )
    )
    port = listeners[0].socket.getsockname()[1]

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    gate = network.ProxyGate(
        network.parse((f"a.example.org:{port}",)), resolver, lambda address: True
    )
    with trio.fail_after(20):
        async with await trio.open_tcp_stream("127.0.0.1", await proxied(gate, nursery)) as stream:
            await stream.send_all(sent.format(port=port).encode())
            await stream.send_eof()
            assert await stream.receive_some() == b""  # both have ended
    head, _, rest = bytes(said).partition(b"\r\n\r\n")
    assert rest == body
    assert head.startswith(b"POST /x HTTP/1.1\r\n")
    assert not (b"content-length: 5" in head.lower() and b"chunked" in head)


AMBIGUOUS = {
    "two lengths": "Content-Length: 2\r\nContent-Length: 5\r\n\r\nhi",
    "a list of lengths": "Content-Length: 2, 5\r\n\r\nhi",
    "another encoding": "Transfer-Encoding: xchunked\r\n\r\nhi",
    "two encodings": "Transfer-Encoding: gzip, chunked\r\n\r\nhi",
    "a space before the colon": "Content-Length : 2\r\n\r\nhi",
    "two hosts": "Host: evil.net\r\n\r\n",
    "a folded host": " evil.net\r\n\r\n",
}


@pytest.mark.parametrize("rest", AMBIGUOUS.values(), ids=AMBIGUOUS)
async def test_what_two_servers_could_read_in_two_ways_is_refused(rest, proxy, world):
    port, gate = proxy
    answer = await ask(port, (ADMITTED.format(port=world) + rest).encode())
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))
    assert not gate.connections[0].allowed


async def test_a_name_that_leads_elsewhere_the_second_time_gains_nothing(nursery, world):
    """Each connection is made to the address that was checked for it; no name is asked twice."""
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    asked: list[str] = []

    async def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    checked = {"127.0.0.1"}  # as if it were public
    entries = network.parse((f"api.example.com:{world}",))
    port = await proxied(network.ProxyGate(entries, resolver, checked.__contains__), nursery)
    hello = client_hello("api.example.com")
    assert (await ask(port, connect("api.example.com", world), hello)).startswith(b"ECHO:")
    assert len(asked) == 1
    assert (await ask(port, connect("api.example.com", world), hello)).startswith(b"HTTP/1.1 403")


def with_names(hello: bytes, *names: bytes, twice: bool = False) -> bytes:
    """A ClientHello in whose place of `api.example.com` these names stand, or two extensions."""
    old = _extension(b"api.example.com")
    assert old in hello
    new = _extension(*names) if not twice else b"".join(map(_extension, names))
    record = hello[5:]
    body = record[4:].replace(old, new)
    at = body.index(new)
    start = 34 + 1 + body[34]
    start += 2 + int.from_bytes(body[start : start + 2], "big")
    start += 1 + body[start]
    assert start < at
    extensions = body[start + 2 :]
    body = body[:start] + len(extensions).to_bytes(2, "big") + extensions
    record = record[:1] + len(body).to_bytes(3, "big") + body
    return hello[:3] + len(record).to_bytes(2, "big") + record


def _extension(*names: bytes) -> bytes:
    listed = b"".join(b"\0" + len(name).to_bytes(2, "big") + name for name in names)
    listed = len(listed).to_bytes(2, "big") + listed
    return b"\0\0" + len(listed).to_bytes(2, "big") + listed


@pytest.mark.parametrize("twice", [False, True])
def test_a_hello_with_two_server_names_has_none(twice):
    hello = client_hello("api.example.com")
    assert with_names(hello, b"api.example.com") == hello  # the control
    assert tls.server_name(with_names(hello, b"evil.net")[5:]) == "evil.net"
    with pytest.raises(ValueError, match="more than one"):
        tls.server_name(with_names(hello, b"api.example.com", b"evil.net", twice=twice)[5:])


@pytest.mark.parametrize("way", ["proxy", "forward"])
async def test_a_program_can_not_use_up_the_servers_descriptors(way, nursery, world):
    """Connections beyond so many at once are not even accepted, and are served in their turn."""
    gate = network.ProxyGate(network.parse(("api.example.com",)))
    port = await proxied(gate, nursery, None if way == "proxy" else world)
    before = len(os.listdir("/proc/self/fd"))
    count = CONNECTIONS_MAX + 40
    with trio.fail_after(60):
        clients = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(count)]
        await trio.testing.wait_all_tasks_blocked(0.05)
        ends = len(os.listdir("/proc/self/fd")) - before - count
        assert ends <= CONNECTIONS_MAX * (1 if way == "proxy" else 3)
        for client in clients[:-1]:
            await client.aclose()
        await clients[-1].send_all(b"nonsense\r\n\r\n")
        assert await clients[-1].receive_some()  # the last has its turn
        await clients[-1].aclose()


def profile(*entries: str) -> Profile:
    return Profile("online", ProjectAccess.COPY_ON_WRITE, network.parse(entries), floor="A")


async def run_online(project: Path, state_dir: Path, allowed: Profile, code: str):
    settings = Settings(profiles={"analyze": ANALYZE, "online": allowed})
    async with open_engine(
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

    gate = functools.partial(
        network.ProxyGate, resolver=resolver, address_allowed=lambda address: True
    )
    monkeypatch.setattr(network, "ProxyGate", gate)
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


@pytest.mark.parametrize(
    ("address", "passes"),
    [
        ("10.1.2.3", True),
        ("203.0.113.7", True),
        ("fd12:3456::1", True),
        ("8.8.8.8", True),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("::ffff:169.254.169.254", False),
        ("nonsense", False),
    ],
)
def test_a_private_rule_reaches_networks_of_ones_own_and_no_further(address, passes):
    rule = HostRule("a.example", private=True)
    gate = network.ProxyGate(network.Allowlist((rule,)))
    assert gate.allows(address, "a.example", 443) is passes
    assert gate.allows(address, "b.example", 443) is (address == "8.8.8.8")
