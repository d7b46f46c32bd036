"""An engine behind ssh: each connection is a child `ssh … docker system dial-stdio`.

The SDK can do that only with a library for ssh, even when it starts the program. Here the user's
own program is all that is needed, with its configuration, keys and known hosts.
"""

from __future__ import annotations

import socket
import subprocess
from typing import Any
from urllib.parse import urlsplit

import trio
from docker.transport.basehttpadapter import BaseHTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

CONNECT_S_MAX = 15
POOL = 4  # open connections; each is a process


def command(url: str) -> list[str]:
    """Return the command of a connection. It never prompts: there is no terminal."""
    parts = urlsplit(url)
    login = f"{parts.username}@{parts.hostname}" if parts.username else str(parts.hostname)
    port = ["-p", str(parts.port)] if parts.port else []
    options = ["-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S_MAX}"]
    return ["ssh", *options, *port, "--", login, "docker", "system", "dial-stdio"]


def why_not(url: str) -> str:
    """Return why no connection can be made, in the words of `ssh` or `docker`; "" if one can.

    Raises:
        OSError: `ssh` cannot be started.
    """
    try:
        tried = subprocess.run(
            command(url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * CONNECT_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "ssh does not connect in time"
    if tried.returncode == 0:
        return ""
    said = tried.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"ssh ended with exit code {tried.returncode}"


class Dialled(trio.abc.Stream):
    """One connection as a stream."""

    def __init__(self, url: str) -> None:
        ours, self._process = _dial(url)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        return await self._stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        _end(self._process)
        await self._stream.aclose()


class SshAdapter(BaseHTTPAdapter):  # type: ignore[misc]
    """An adapter for the SDK's requests."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._pool = _SshPool(url, timeout_s)
        super().__init__()

    def get_connection(self, url: str, proxies: object = None) -> HTTPConnectionPool:
        """Return the one pool, whatever the address."""
        del url, proxies
        return self._pool

    def request_url(self, request: Any, proxies: object) -> str:  # noqa: ANN401 - the SDK's
        """Return only the path."""
        del proxies
        return str(request.path_url)

    def close(self) -> None:
        self._pool.close()
        super().close()


class _SshPool(HTTPConnectionPool):
    def __init__(self, url: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s, maxsize=POOL)
        self._url = url

    def _new_conn(self) -> HTTPConnection:
        return _SshConnection(self._url, self.timeout.connect_timeout)


class _SshConnection(HTTPConnection):
    def __init__(self, url: str, timeout_s: Any) -> None:  # noqa: ANN401 - as urllib3 has it
        super().__init__("localhost", timeout=timeout_s)
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None

    def connect(self) -> None:
        self.sock, self._process = _dial(self._url)
        self.sock.settimeout(self.timeout)

    def close(self) -> None:
        super().close()
        if self._process is not None:
            _end(self._process)
            self._process = None


def _dial(url: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            end = theirs.fileno()
            process = subprocess.Popen(
                command(url), stdin=end, stdout=end, stderr=subprocess.DEVNULL
            )
        except BaseException:
            ours.close()
            raise
    return ours, process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
