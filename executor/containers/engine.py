"""A Docker engine: where it is, what it can do, and calls to it that block no other task."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import docker
import trio
from docker import errors as docker_errors
from docker.tls import TLSConfig
from requests.exceptions import RequestException

from executor.containers import ssh
from executor.model import SandboxError

T = TypeVar("T")

CALL_S_MAX = 60.0
ATTACH_S_MAX = 4.0
ALONE_S, PING_S_MAX = 1.5, 2.5
"""After how long a call is watched, and how long the engine may then take to answer a ping."""
HEAD_BYTES_MAX = 16 * 1024
OLDEST_API = "1.24"  # enough to ask for the engine's own
DEFAULT_SOCKET = "/var/run/docker.sock"
CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
TLS_FILES = f"{', '.join(CERTIFICATES)} in DOCKER_CERT_PATH"
UNREACHABLE = "the engine does not answer; see that it runs, as with `docker info`"
FAULTS = (docker_errors.DockerException, RequestException, OSError)


class EngineError(SandboxError):
    """The engine cannot be reached, or refused a request."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The engine's description of itself."""

    version: str
    processors: int
    rootless: bool
    runtimes: tuple[str, ...]
    default_runtime: str
    cgroup_version: str
    limits: bool  # whether it can limit memory and processes: many a rootless one can't
    storage_driver: str


class DockerEngine:
    """One engine. Made by `connect` only. `api` is the SDK's client, for answers that stream."""

    def __init__(self, where: Endpoint, api: docker.APIClient, facts: Facts) -> None:
        self.endpoint = where
        self.facts = facts
        self.api = api

    async def call(self, method: str, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - the SDK's
        """Call a method of the SDK's `APIClient`, in a thread.

        Cancelling does not wait for the answer, and the engine may still do the work. During the
        call the engine is pinged: some calls take long, but an engine that hangs ends none.

        Raises:
            EngineError: it failed, took over `CALL_S_MAX`, or the engine hangs.
        """
        answer: Any = EngineError(f"docker: {method} is not answered: {UNREACHABLE}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, nursery.cancel_scope)
            try:
                answer = await _call_in_thread(partial(getattr(self.api, method), *args, **named))
            except EngineError as error:
                answer = error
            nursery.cancel_scope.cancel()
        if isinstance(answer, EngineError):
            raise answer
        return answer

    async def _watch(self, call: trio.CancelScope) -> None:
        """Give a call up once the engine hangs."""
        with contextlib.suppress(EngineError, trio.TooSlowError), trio.fail_after(CALL_S_MAX):
            while True:
                await trio.sleep(ALONE_S)
                with trio.fail_after(PING_S_MAX):
                    await _call_in_thread(self.api.ping)
        call.cancel()

    def close(self) -> None:
        """Close the connections that calls have used."""
        self.api.close()

    async def attach(self, container: str) -> trio.abc.Stream:
        """Return the container's standard streams, separated as the engine separates them.

        Raises:
            EngineError: it cannot be reached, or the container does not exist.
        """
        path = f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        head = (
            f"POST /v{self.api.api_version}{path} HTTP/1.1\r\nHost: docker\r\n"
            "Upgrade: tcp\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n"
        )
        try:
            with trio.fail_after(ATTACH_S_MAX):
                stream = await _dial(self.endpoint)
                try:
                    await stream.send_all(head.encode())
                    await _read_upgrade(stream)
                except BaseException:
                    await trio.aclose_forcefully(stream)
                    raise
                return stream
        except (*FAULTS, trio.TooSlowError, trio.BrokenResourceError) as error:
            raise EngineError(f"{self.endpoint.url}: {error}: {UNREACHABLE}") from error


async def connect(where: Endpoint) -> DockerEngine:
    """Connect to an engine that answers.

    Raises:
        EngineError: it does not, or not in time.
    """
    try:
        with trio.fail_after(where.patience_s):
            return await _call_in_thread(partial(_connect, where))
    except trio.TooSlowError as error:
        late = f"{where.url} does not answer within {where.patience_s:g} s; see `docker info`"
        raise EngineError(late) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(f"what answers at {where.url} is not Docker: {UNREACHABLE}") from error


def _connect(where: Endpoint) -> DockerEngine:
    if where.is_ssh and (reason := ssh.why_not(where.url)):
        raise EngineError(f"{where.url}: {reason}")
    with contextlib.closing(_client(where)) as asking:
        version = str(asking.version(api_version=False)["ApiVersion"])
    api = _client(where, version)
    info = api.info()
    facts = Facts(
        version=str(info.get("ServerVersion", "?")),
        processors=int(info.get("NCPU") or 1),
        rootless="name=rootless" in (info.get("SecurityOptions") or ()),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        default_runtime=str(info.get("DefaultRuntime") or "runc"),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        limits=_limits(info),
        storage_driver=str(info.get("Driver") or "?"),
    )
    return DockerEngine(where, api, facts)


def _limits(info: Mapping[str, Any]) -> bool:
    """Return the limits that an engine supports; a missing value counts as unsupported."""
    told = info.get("MemoryLimit"), info.get("PidsLimit")
    return info.get("CgroupDriver") not in ("none", "", None) and all(told)


def _client(where: Endpoint, version: str = OLDEST_API) -> docker.APIClient:
    if where.is_ssh:
        api = docker.APIClient(f"unix://{DEFAULT_SOCKET}", version, CALL_S_MAX)
        api.mount("http+docker://", ssh.SshAdapter(where.url, CALL_S_MAX))
        return api
    tls: TLSConfig | bool = False
    if folder := where.certificates:
        for name in CERTIFICATES:
            if not (folder / name).is_file():
                raise EngineError(f"{folder / name} is not there: name the folder of {TLS_FILES}")
        pair = (str(folder / "cert.pem"), str(folder / "key.pem"))
        tls = TLSConfig(client_cert=pair, ca_cert=str(folder / "ca.pem"), verify=True)
    api = docker.APIClient(where.url, version, CALL_S_MAX, tls)
    api.trust_env = False  # REQUESTS_CA_BUNDLE would take the place of the engine's authority
    return api


async def _call_in_thread(call: Callable[[], T]) -> T:
    try:
        return await trio.to_thread.run_sync(call, abandon_on_cancel=True)
    except FAULTS as error:
        if said := getattr(error, "explanation", None):
            raise EngineError(f"docker: {said}") from error
        raise EngineError(f"{_cause(error)}: {UNREACHABLE}") from error


def _cause(error: BaseException) -> str:
    """Return the first error of the system or TLS; the SDK wraps it into a report of its tries."""
    said, inner = str(error), error.__context__
    while inner is not None:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {inner.verify_message}"
        if isinstance(inner, OSError) and inner.strerror:
            said = inner.strerror
        inner = inner.__context__
    return said


async def _dial(where: Endpoint) -> trio.abc.Stream:
    """Connect to the engine, by each kind of address that the SDK supports."""
    parts = urlsplit(where.url)
    if parts.scheme == "unix":
        return await trio.open_unix_socket(parts.path)
    if where.is_ssh:
        return ssh.Dialled(where.url)
    stream = await trio.open_tcp_stream(str(parts.hostname), parts.port or 2375)
    if where.certificates is None:
        return stream
    context = ssl.create_default_context(cafile=where.certificates / "ca.pem")
    context.load_cert_chain(where.certificates / "cert.pem", where.certificates / "key.pem")
    return trio.SSLStream(stream, context, server_hostname=parts.hostname, https_compatible=True)


async def _read_upgrade(stream: trio.abc.Stream) -> None:
    """Skip the engine's answer byte by byte, as the stream may follow at once.

    Raises:
        OSError: the engine refused.
    """
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = await stream.receive_some(1)
        if not byte or len(head) > HEAD_BYTES_MAX:
            raise OSError("the engine closed the connection")
        head += byte
    status = head.split(b" ", 2)[1]
    if status not in (b"101", b"200"):
        raise OSError(f"attach was answered with {head.splitlines()[0].decode(errors='replace')}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An engine's address, and for `tcp` the folder with ca.pem, cert.pem and key.pem if any."""

    url: str
    certificates: Path | None = None

    @property
    def is_local(self) -> bool:
        return self.url.startswith("unix://")

    @property
    def is_ssh(self) -> bool:
        return self.url.startswith("ssh://")

    @property
    def patience_s(self) -> float:
        """Return the seconds to wait for its description: with ssh, after three handshakes."""
        return 30.0 if self.is_ssh else 2.5


def find_endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Find the engine that `docker` would use: by DOCKER_HOST, else by the current context.

    Raises:
        EngineError: the current context can't be read.
    """
    if host := environ.get("DOCKER_HOST"):
        verified = environ.get("DOCKER_TLS_VERIFY") or environ.get("DOCKER_CERT_PATH")
        folder = Path(environ.get("DOCKER_CERT_PATH") or Path.home() / ".docker")
        return Endpoint(host, folder if verified and host.startswith("tcp://") else None)
    if found := _of_context(environ):
        return found
    rootless = Path(environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "docker.sock")
    if not os.path.exists(DEFAULT_SOCKET) and rootless.exists():
        return Endpoint(f"unix://{rootless}")
    return Endpoint(f"unix://{DEFAULT_SOCKET}")


def _of_context(environ: Mapping[str, str]) -> Endpoint | None:
    """Find it by `docker context`, whose store uses digests of names; None for the default.

    Read here, since the SDK finds contexts only if there is a config.json next to them.

    Raises:
        EngineError: it cannot be read.
    """
    folder = Path(environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    name = environ.get("DOCKER_CONTEXT") or _read(folder / "config.json").get("currentContext")
    if not name or name == "default":
        return None
    store, digest = folder / "contexts", hashlib.sha256(name.encode()).hexdigest()
    context = _read(store / "meta" / digest / "meta.json")
    host = context.get("Endpoints", {}).get("docker", {}).get("Host")
    if not host:
        raise EngineError(f"docker context: no context {name} in {folder}")
    keys = store / "tls" / digest / "docker"
    return Endpoint(str(host), keys if keys.is_dir() else None)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EngineError(f"docker context: {file}: {error}") from error
    return content if isinstance(content, dict) else {}
