"""Refusals of one run: the exact ones first, each target once, bounded, and none without cause."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from executor.engine.box import Consumption, Exit, Layout
from executor.engine.seccomp import name_denied_calls
from executor.model import Connection, LeftOut, Refusal, Result, Status, Stream
from executor.network import parse
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE, Profile, ProjectAccess
from executor.run.refusals.collecting import (
    REFUSALS_MAX,
    TARGET_CHARACTERS_MAX,
    RunEnd,
    RunFacts,
    bounded,
    collect,
    with_refusals,
)
from executor.run.refusals.notices import EXACT, INFERRED, SOURCES, TOLD, HostLooks, NoLooks
from executor.spawner.refusal_counts import LOOKED_UP

NUMBERS = {name: number for number, name in name_denied_calls().items()}
CONNECT, SOCKET = NUMBERS["connect"], NUMBERS["socket"]
ONLINE = Profile("online", ProjectAccess.COPY_ON_WRITE, parse(("pypi.org", "*.example.com:8443")))


class Host(HostLooks):
    """A machine that has everything."""

    def has_path(self, path: str) -> bool:
        return "none" not in path

    def has_socket(self, path: str) -> bool:
        return "none" not in path

    def has_abstract(self, name: str) -> bool:
        return name == "@known"

    def listens(self, port: int) -> bool:
        return port == 5432


def ended(*refused: tuple[int, str, int], status: Status = Status.OK, **more: object) -> RunEnd:
    end = Exit("run", 0, None, None, 0.0, 0, 1, False, (), 0, refused=refused)
    return Result(status, **more), end, None


@pytest.fixture
def facts(tmp_path: Path) -> RunFacts:
    return RunFacts(
        ANALYZE,
        Layout(project="/project"),
        "/project",
        ProjectSearch(tmp_path),
        copies_on_write=True,
    )


def named(run: RunEnd, facts: RunFacts, host: HostLooks | None = None) -> list[tuple[str, str]]:
    return [(one.kind, one.target) for _, one in collect(run, facts, host or Host())]


FAILED = Status.NONZERO_EXIT
NOTICES = {
    "a name": ((LOOKED_UP, "a.example.com", 2), Status.OK, ("network", "a.example.com")),
    "a stream": ((CONNECT, "tcp 192.0.2.1:80", 1), Status.OK, ("network", "192.0.2.1:80")),
    "a mapped one": (
        (CONNECT, "tcp [::ffff:192.0.2.1]:80", 1),
        Status.OK,
        ("network", "[::ffff:192.0.2.1]:80"),
    ),
    "a datagram that is coped with": ((CONNECT, "udp 8.8.8.8:53", 1), Status.OK, None),
    "a datagram": ((CONNECT, "udp 8.8.8.8:53", 1), FAILED, ("network", "8.8.8.8:53 by UDP")),
    "a port of the host": (
        (CONNECT, "tcp 127.0.0.1:5432", 1),
        FAILED,
        ("network", "localhost:5432"),
    ),
    "a port of nobody": ((CONNECT, "tcp 127.0.0.1:5433", 1), FAILED, None),
    "a port that is coped with": ((CONNECT, "tcp [::1]:5432", 1), Status.OK, None),
    "a socket of the project": (
        (CONNECT, "unix /project/x.sock", 1),
        Status.OK,
        ("socket", "x.sock"),
    ),
    "a socket of nobody": ((CONNECT, "unix /project/none", 1), FAILED, None),
    "a socket at home": (
        (CONNECT, "unix /home/sandbox/x", 1),
        Status.OK,
        ("socket", str(Path.home() / "x")),
    ),
    "the log": ((CONNECT, "unix /dev/log", 1), Status.OK, None),
    "names of the library": ((CONNECT, "unix /var/run/nscd/socket", 1), Status.OK, None),
    "abstract": ((CONNECT, "unix @known", 1), Status.OK, ("socket", "@known")),
    "abstract, nobody's": ((CONNECT, "unix @other", 1), FAILED, None),
    "no address": ((CONNECT, "tcp nonsense", 1), FAILED, None),
    "a call": ((NUMBERS["mount"], "", 3), Status.OK, ("call", "mount")),
    "a call that is coped with": ((NUMBERS["io_uring_setup"], "", 1), Status.OK, None),
    "a call that may be why": (
        (NUMBERS["io_uring_setup"], "", 1),
        FAILED,
        ("call", "io_uring_setup"),
    ),
    "a family": ((SOCKET, "40", 1), Status.OK, ("call", "socket(AF_VSOCK)")),
    "a family of nobody": ((SOCKET, "63", 1), Status.OK, ("call", "socket(family 63)")),
    "a call without a name": ((9999, "", 1), Status.OK, ("call", "call 9999")),
}


@pytest.mark.parametrize(("notice", "status", "expected"), NOTICES.values(), ids=NOTICES)
def test_what_a_supervisor_saw_is_named(notice, status, expected, facts):
    run = ended(notice, status=status, stderr=Stream("connect: Connection refused"))
    assert named(run, facts) == ([expected] if expected else [])


def test_a_name_that_is_granted_is_told_apart(facts):
    online = RunFacts(ONLINE, facts.layout, facts.cwd, facts.search, copies_on_write=True)
    notices = [(LOOKED_UP, name, 1) for name in ("pypi.org", "a.example.com", "example.com")]
    found = [one.remedy for _, one in collect(ended(*notices), online, Host())]
    assert ["HTTPS_PROXY" in remedy for remedy in found] == [True, True, False]


def test_the_proxy_the_commit_and_limits_are_exact(facts):
    connections = (
        Connection("a.net", 443, False, "the profile does not name it"),
        Connection("a.net", 8443, False, "port 8443 is not allowed for it"),
        Connection("b.net", 443, False, "resolves to 10.0.0.1, which is not public"),
        Connection("c.net", 443, True),
        Connection("?", 0, False, "not an HTTP request"),
    )
    left = [LeftOut(f"{kind}.txt", "why", kind) for kind in ("never", "held", "conflict", "kept")]
    run = ended(connections=connections, not_committed=tuple(left))
    run = (*run[:2], Consumption(None, oom_kills=2, fork_refusals=5))
    found = {one.target: one for _, one in collect(run, facts, NoLooks())}
    assert {target: one.count for target, one in found.items()} == {
        "a.net": 1,
        "a.net:8443": 1,
        "b.net": 1,
        "never.txt": 1,
        "held.txt": 1,
        "memory_bytes": 2,
        "processes": 5,
    }
    assert {one.certainty for one in found.values()} == {EXACT}
    assert found["a.net:8443"].remedy.startswith('network = ["a.net:8443"]')
    assert "nothing grants it" in found["b.net"].remedy


def test_errors_are_read_only_where_the_run_failed(facts):
    stderr = Stream("cat: /usr/x: Read-only file system\n")
    assert named(ended(status=Status.OK, stderr=stderr), facts) == []
    assert named(ended(status=FAILED, stderr=stderr), facts) == [("write", "/usr/x")]
    assert named(ended(status=FAILED, stderr=stderr), facts, NoLooks()) == []


def test_what_is_known_exactly_is_not_guessed_besides(facts):
    stderr = Stream("Network is unreachable\nOperation not permitted\n")
    run = ended(
        (CONNECT, "tcp 192.0.2.1:80", 1), (NUMBERS["mount"], "", 1), status=FAILED, stderr=stderr
    )
    assert named(run, facts) == [("network", "192.0.2.1:80"), ("call", "mount")]


def test_so_many_are_listed_each_once_and_the_others_are_counted():
    one = Refusal("network", "x" * 999, "y", INFERRED)
    several = [Refusal("call", str(number), "seccomp", EXACT) for number in range(REFUSALS_MAX + 9)]
    result = bounded(Result(Status.OK), [one, one, *several, *several], 3)
    assert len(result.refusals) == REFUSALS_MAX
    assert result.refusals_omitted == 10 + 3
    assert {refusal.count for refusal in result.refusals} == {2}
    short = bounded(Result(Status.OK), [one, several[0]], 0).refusals
    assert [refusal.certainty for refusal in short] == [EXACT, INFERRED]
    assert len(short[1].target) == TARGET_CHARACTERS_MAX


@pytest.mark.parametrize(("said", "expected"), [("Connection refused", 1), ("no", 0)])
def test_a_port_of_the_host_is_named_where_an_error_speaks_of_it(said, expected, facts):
    run = ended((CONNECT, "tcp 127.0.0.1:5432", 1), status=FAILED, stderr=Stream(said))
    assert named(run, facts) == [("network", "localhost:5432")] * expected


async def test_a_run_that_was_refused_nothing_is_left_as_it_is(facts):
    result = Result(Status.OK)
    assert await with_refusals((result, None, None), facts) is result
    own = ended((CONNECT, "tcp 127.0.0.1:5432", 9), (CONNECT, "tcp [::1]:80", 1))
    assert await with_refusals(own, facts) is own[0]


def test_of_a_file_that_is_no_socket_a_connection_tells_nothing(tmp_path, facts):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        (tmp_path / "file").touch()
        notices = [(CONNECT, f"unix {tmp_path}/{name}", 1) for name in ("s", "file", "none")]
        assert named(ended(*notices), facts, HostLooks()) == [("socket", f"{tmp_path}/s")]


@pytest.mark.parametrize("address", [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_this_machine_is_asked_what_listens_on_it(address):
    host, family = address
    with socket.socket(family) as server:
        try:
            server.bind((host, 0))
        except OSError:
            pytest.skip("not applicable: this machine has no such address")
        port = server.getsockname()[1]
        assert not HostLooks().listens(port)
        server.listen()
        assert HostLooks().listens(port)


def test_this_machine_is_asked_for_abstract_sockets():
    with socket.socket(socket.AF_UNIX) as server:
        name = f"refusals-{id(server)}"
        assert not HostLooks().has_abstract(f"@{name}")
        server.bind(f"\0{name}")
        assert HostLooks().has_abstract(f"@{name}")


def test_every_source_says_what_helps_in_words():
    assert {source.certainty for source in SOURCES.values()} == {EXACT, TOLD, INFERRED}
    assert all(source.remedy and source.by for source in SOURCES.values())


def test_a_registrys_name_leads_to_packages(facts):
    notices = [(LOOKED_UP, name, 1) for name in ("registry.npmjs.org", "npmjs.org")]
    found = collect(ended(*notices), facts, Host())
    assert ["--packages" in one.remedy for _, one in found] == [True, False]
