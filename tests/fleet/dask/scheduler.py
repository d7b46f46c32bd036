"""A real Dask scheduler on loopback, with TLS on both sides, which lacks our modules."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

from fleet.cluster import Cluster, Credentials

ROOT = Path(__file__).parents[3]
START_S = 60
# Its own path, with nothing of this folder on it, whatever a .pth file says.
_PROGRAM = """
import asyncio, sys
sys.path[:] = [one for one in sys.path if one not in ("", {root!r})]
import dask
from distributed import Scheduler
from distributed.security import Security

async def main():
    files = dict(zip(("tls_ca_file", "tls_scheduler_cert", "tls_scheduler_key"), sys.argv[2:]))
    security = Security(require_encryption=True, **files) if files else None
    dask.config.set({{"distributed.scheduler.allowed-failures": {failures}}})
    async with Scheduler(
        host="127.0.0.1", port=int(sys.argv[1]), protocol="tls" if files else "tcp",
        dashboard_address="127.0.0.1:0", security=security,
    ) as scheduler:
        await scheduler.finished()

asyncio.run(main())
"""
ALLOWED_FAILURES = 2


@dataclass(slots=True)
class DaskScheduler:
    """A scheduler that runs: its port, and the certificates of those who may call it."""

    port: int
    folder: Path
    is_plain: bool = False
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'dask' if self.is_plain else 'dask+tls'}://127.0.0.1:{self.port}"

    @property
    def blobs(self) -> str:
        return (self.folder / "blobs").as_uri()

    @property
    def cluster(self) -> Cluster:
        return Cluster("127.0.0.1", self.port, self.front, self.blobs)

    @property
    def front(self) -> Credentials | None:
        names = ("ca.pem", "front.pem", "front.key")
        return None if self.is_plain else Credentials(*(self.folder / name for name in names))

    def start(self) -> None:
        """Start it, or start it again, with nothing in its memory."""
        program = _PROGRAM.format(root=str(ROOT), failures=ALLOWED_FAILURES)
        names = () if self.is_plain else ("ca.pem", "server.pem", "server.key")
        files = [str(self.folder / name) for name in names]
        command = [sys.executable, "-c", program, str(self.port), *files]
        with (self.folder / "scheduler.log").open("ab") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said, cwd="/")
        deadline = time.monotonic() + START_S
        while not self._answers():
            said = (self.folder / "scheduler.log").read_text()[-3000:]
            assert self.process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.02)

    def restart(self) -> None:
        """Start it after it was killed; it answers then."""
        self.start()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False


@contextlib.contextmanager
def dask_scheduler(folder: Path, *, is_plain: bool = False) -> Iterator[DaskScheduler]:
    """Start one, and end it with the block."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate_files(folder, "server", authority.issue_cert("127.0.0.1", "localhost"))
    certificate_files(folder, "front", authority.issue_cert("front.example"))
    (folder / "blobs").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    scheduler = DaskScheduler(port, folder, is_plain)
    scheduler.start()
    try:
        yield scheduler
    finally:
        scheduler.kill()


def certificate_files(folder: Path, name: str, made: trustme.LeafCert) -> None:
    """Write a certificate and its key, which nobody else may read."""
    made.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    key = folder / f"{name}.key"
    key.touch(0o600)
    made.private_key_pem.write_to_path(key)
