"""A real Remote Execution server on loopback: BuildGrid, its PostgreSQL, and TLS on both sides.

`bgd` of a PATH, or of the variable CTXMODE_BUILDGRID, starts it. BuildGrid keeps its queue in
PostgreSQL and nowhere else; here that listens on a socket in a folder alone, and flushes nothing.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

from fleet.engines.credentials import Credentials

INSTANCE = "main"
START_S = 90
LEASE_S = 10
_CONFIG = """
server:
  - !channel
    address: 127.0.0.1:{port}
    insecure-mode: false
    credentials:
      tls-server-key: {folder}/server.key
      tls-server-cert: {folder}/server.pem
      tls-client-certs: {folder}/ca.pem
connections:
  - !sql-connection &sql
    connection-string: "{database}"
    pool-size: 10
    max-overflow: 20
storages:
  - !disk-storage &cas
    path: {folder}/cas
caches:
  - !lru-action-cache &kept
    storage: *cas
    max-cached-refs: 1000
    allow-updates: true
    cache-failed-actions: false
schedulers:
  - !sql-scheduler &scheduler
    sql: *sql
    storage: *cas
    action-cache: *kept
    property-set: !dynamic-property-set
      match-property-keys: [context-mode, tier]
      wildcard-property-keys: [language]
    bot-session-keepalive-timeout: {lease_s}
    session-expiry-timer-interval: 0.5
    poll-interval: 0.1
    bot-poll-interval: 0.1
    assigners:
      - !priority-age-assigner
        interval: 0.02
        jitter-factor: 0.01
        failure-backoff: 0.1
instances:
  - name: main
    services:
      - !action-cache
        cache: *kept
      - !execution
        scheduler: *scheduler
        operation-stream-keepalive-timeout: 5
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
  - name: storage
    services:
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
# A thread is taken by each stream that waits, and by each worker that does.
thread-pool-size: 64
"""


@dataclass(slots=True)
class RemoteServer:
    """A server that runs: its port, and the certificates of those who may call it."""

    port: int
    folder: Path
    authority: trustme.CA
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again; its queue and its blobs are as they were."""
        command = [_bgd(), "server", "start", str(self.folder / "bgd.yml")]
        with (self.folder / "bgd.log").open("ab") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said, cwd="/")

    def restart(self) -> None:
        """Start it after it was killed; it answers then."""
        self.start()
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        _wait_until(lambda: _answers(self.port), self.process, self.folder / "bgd.log")

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        return f"grpcs://127.0.0.1:{self.port}/{INSTANCE}"

    @property
    def front(self) -> Credentials:
        return Credentials(*(self.folder / name for name in ("ca.pem", "front.pem", "front.key")))


def missing_part() -> str:
    """What lacks here for a server; empty where all is there."""
    if _bgd() is None:
        return "BuildGrid is missing: .ci/grid installs it; CTXMODE_BUILDGRID names its program"
    if _postgres() is None:
        return "PostgreSQL is not installed"
    return ""


@contextlib.contextmanager
def remote_server(lease_s: int = LEASE_S) -> Iterator[RemoteServer]:
    """Start all of it, and end it with the block. A worker that says nothing for `lease_s` is
    taken for dead."""
    with tempfile.TemporaryDirectory(prefix="ctx-grid-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # the database's own user passes through
        database = stack.enter_context(_database(folder))
        authority = _certify(folder)
        (folder / "cas").mkdir()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        values = {"port": port, "folder": folder, "database": database, "lease_s": lease_s}
        (folder / "bgd.yml").write_text(_CONFIG.format(**values))
        server = RemoteServer(port, folder, authority)
        server.start()
        stack.callback(server.kill)
        # Beside it, for both load for seconds; until its tables are there the server tries again.
        migrate = [_bgd(), "migrate", "apply", database]
        subprocess.run(migrate, check=True, capture_output=True, timeout=START_S)
        server.wait_until_it_answers()
        yield server


def certificate_files(folder: Path, name: str, made: trustme.LeafCert) -> None:
    """Write a certificate and its key, which nobody else may read."""
    made.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    key = folder / f"{name}.key"
    key.touch(0o600)
    made.private_key_pem.write_to_path(key)


def _certify(folder: Path) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate_files(folder, "server", authority.issue_cert("127.0.0.1", "localhost"))
    certificate_files(folder, "front", authority.issue_cert("front.example"))
    return authority


@contextlib.contextmanager
def _database(folder: Path) -> Iterator[str]:
    """A PostgreSQL, whose files and socket lie in the folder; it refuses to run as root."""
    place, programs = folder / "db", _postgres()
    place.mkdir()
    user, become = pwd.getpwuid(os.getuid()).pw_name, []
    if os.getuid() == 0:
        user = "postgres"
        shutil.chown(place, user, user)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    make = [*become, str(programs / "initdb"), "-D", str(place / "data"), "-U", "grid"]
    make += ["-A", "trust", "-N", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, capture_output=True, timeout=START_S, cwd="/")
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(place),
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "shared_buffers": "16MB",
    }
    start = [*become, str(programs / "postgres"), "-D", str(place / "data")]
    start += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with _running(start, folder / "db.log") as process:
        ask = [str(programs / "pg_isready"), "-q", "-h", str(place)]
        is_ready = lambda: not subprocess.run(ask, check=False).returncode  # noqa: E731
        _wait_until(is_ready, process, folder / "db.log")
        yield f"postgresql+psycopg2://grid@/postgres?host={place}"


@contextlib.contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, cwd="/")
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until(holds, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not holds():
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.02)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _bgd() -> str | None:
    return shutil.which(os.environ.get("CTXMODE_BUILDGRID", "bgd"))


def _postgres() -> Path | None:
    """The folder of the newest PostgreSQL; Debian keeps its programs off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    on_path = shutil.which("postgres")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None
