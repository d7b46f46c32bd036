"""Engines of other machines: by TCP with TLS, and by ssh. Files travel, results are the same."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from ctxmode.doctor.container_engine import examine
from executor import (
    Isolation,
    Request,
    Result,
    SandboxUnavailableError,
    Settings,
    Status,
    open_engine,
)
from executor.model import Usage
from tests.executor.containers.own_engine import started

pytestmark = [
    pytest.mark.xdist_group("containers"),
    # The SDK leaves a connection that has failed to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

START_S_MAX = 60
PROGRAMS = (
    ("shell", "cat data.txt; cat .env; echo new > made; rm data.txt; echo why >&2; exit 3", {}),
    ("python", "import sys; print(sys.stdin.read().upper(), sys.argv[1:])",
     {"stdin": b"given", "args": ("a b",)}),
    ("python", "open('a.bin', 'wb').write(bytes(300_000)); print('x' * 99_999)",
     {"artifacts": ("*.bin",)}),
)  # fmt: skip


def free_port() -> int:
    """One that nobody takes until it is listened at: of itself the kernel gives out others."""
    given_out = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    end = max(20_000, int(given_out[0]))
    while True:
        port = 10_000 + secrets.randbelow(end - 10_000)
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port


def openssl(folder: Path, *arguments: str) -> None:
    command = ["openssl", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


def certificates(folder: Path) -> Path:
    """An authority, and what it has signed for 127.0.0.1 and for a client."""
    folder.mkdir()
    new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(folder, *new, "-subj", "/CN=authority", "-keyout", "ca-key.pem", "-out", "ca.pem")
    for name, prefix in {"server": "server-", "client": ""}.items():
        keys = ("-keyout", f"{prefix}key.pem", "-out", f"{prefix}cert.pem")
        signed = ("-CA", "ca.pem", "-CAkey", "ca-key.pem", "-addext", "basicConstraints=CA:FALSE")
        openssl(folder, *new, "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                *signed, *keys)  # fmt: skip
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    fill(folder)
    return folder


def fill(project: Path) -> None:
    (project / "data.txt").write_text("old\n")
    (project / ".env").write_text("TOKEN=hidden\n")


def comparable(result: Result) -> Result:
    artifacts = tuple(
        replace(a, path=str(len(Path(a.path).read_bytes())) if a.path else a.path)
        for a in result.artifacts
    )
    changed = tuple(sorted(result.changed_files, key=lambda change: change.path))
    return replace(
        result,
        usage=Usage(),
        isolation=Isolation("any"),
        artifacts=artifacts,
        changed_files=changed,
    )


async def results(project: Path, state: Path, settings: Settings) -> list[Result]:
    """Of all programs; each finds the project as it was, which `analyze` leaves so."""
    async with open_engine(
        project=project, state_dir=state, rules=None, home=Path.home(), settings=settings
    ) as executor:
        found = []
        for language, code, more in PROGRAMS:
            result = (await executor.run(Request(language, code, **more))).result
            found.append(comparable(result))
        if settings.isolation == "container":
            assert "travels" in executor.isolation.layers["copy_on_write"].detail
            built = (await executor.run(Request("shell", "echo x > made", profile="build"))).result
            assert built.status is Status.OK, built.message
            assert (project / "made").read_text() == "x\n"
            for number in (1, 2):
                call = Request("python", f"print({number})", session="s")
                assert (await executor.run(call)).result.stdout.text == f"{number}\n"
            (project / "made").unlink()
    return found


async def compare(project: Path, tmp_path: Path) -> None:
    """Each program's result is the local tier's, but for the secret that does not travel."""
    here = await results(project, tmp_path / "here", Settings())
    there = await results(project, tmp_path / "there", Settings(isolation="container"))
    assert here[0].stdout.text == there[0].stdout.text == "old\n"
    # A secret that is not there can't be read; one that is covered is empty.
    assert [replace(r, stderr=here[0].stderr) if r is there[0] else r for r in there] == here


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can start an engine")
async def test_an_engine_behind_tls_gives_the_same_results_and_clear_errors(
    engine: docker.APIClient, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = certificates(tmp_path / "certificates")
    address = f"tcp://127.0.0.1:{free_port()}"
    options = ("-H", address, "--tlsverify", "--tlscacert", f"{folder}/ca.pem",
               "--tlscert", f"{folder}/server-cert.pem",
               "--tlskey", f"{folder}/server-key.pem")  # fmt: skip
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(folder))
    with started(engine, options):
        monkeypatch.setenv("DOCKER_HOST", address)
        health = await examine()
        assert (health.reachable, health.endpoint) == (True, address), health.reason
        await compare(project, tmp_path)
        stranger = certificates(tmp_path / "stranger")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(stranger))
        await refused(project, tmp_path, "certificate")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        await refused(project, tmp_path, str(tmp_path))
    monkeypatch.setenv("DOCKER_CERT_PATH", str(folder))
    await refused(project, tmp_path, "refused")


async def refused(project: Path, tmp_path: Path, why: str) -> None:
    """`doctor` and a run both say why there is no engine."""
    health = await examine()
    assert not health.reachable
    assert why in health.reason, health.reason
    assert health.remedy
    settings = Settings(isolation="container")
    with pytest.raises(SandboxUnavailableError, match=why):
        async with open_engine(
            project=project, state_dir=tmp_path / "refused", rules=None, home=Path.home(),
            settings=settings,
        ):  # fmt: skip
            pass


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[tuple[int, Path]]:
    """A server on the loopback: its port, and the client's configuration with a key for it."""
    program = shutil.which("sshd", path=f"/usr/sbin:{os.environ['PATH']}")
    assert program, "openssh-server is not installed"
    folder.mkdir(mode=0o700)
    for name in ("host", "key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=60)
    port = free_port()
    (folder / "sshd").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/key.pub\nPasswordAuthentication no\nUsePAM no\n"
        f"PidFile {folder}/pid\nPermitRootLogin yes\nMaxStartups 100\n"
    )
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "client").write_text(
        f"IdentityFile {folder}/key\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
        "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)  # it wants to be confined there
    process = subprocess.Popen([program, "-D", "-e", "-f", str(folder / "sshd")],
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        deadline = time.monotonic() + START_S_MAX
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                break
            assert process.poll() is None, "sshd has ended"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield port, folder / "client"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: only root can start an ssh server")
async def test_an_engine_behind_ssh_gives_the_same_results_and_clear_errors(
    engine: docker.APIClient, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # The user's own ssh reads the user's own configuration: here it is told of another.
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    with sshd(tmp_path / "ssh") as (port, configuration):
        wrapper = bin_folder / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {configuration} "$@"\n')
        wrapper.chmod(0o755)
        monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
        contexts = tmp_path / "docker"
        monkeypatch.setenv("DOCKER_CONFIG", str(contexts))
        address = f"ssh://root@127.0.0.1:{port}"
        command = ["docker", "context", "create", "far", "--docker", f"host={address}"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        monkeypatch.setenv("DOCKER_CONTEXT", "far")
        health = await examine()
        assert (health.reachable, health.endpoint) == (True, address), health.reason
        await compare(project, tmp_path)
        key = configuration.read_text().replace("/key\n", "/host\n")
        configuration.write_text(key)
        await refused(project, tmp_path, "Permission denied")
    await refused(project, tmp_path, "Connection refused")
