"""Where the engine is that `docker` would use: by variables, by the current context, else here."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.containers.engine import DEFAULT_SOCKET, EngineError


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
        """Seconds in which it has to say what it is: behind ssh, after three handshakes."""
        return 30.0 if self.is_ssh else 3.0


def endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The engine that `docker` would use: by DOCKER_HOST, else by the current context.

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
    """By `docker context`, whose store goes by digests of names; None for the default.

    Read here, since the SDK finds contexts only where there is a config.json beside them.

    Raises:
        EngineError: it can't be read.
    """
    folder = Path(environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    name = environ.get("DOCKER_CONTEXT") or _read(folder / "config.json").get("currentContext")
    if not name or name == "default":
        return None
    store, digest = folder / "contexts", hashlib.sha256(name.encode()).hexdigest()
    context = _read(store / "meta" / digest / "meta.json")
    host = context.get("Endpoints", {}).get("docker", {}).get("Host")
    if not host:
        raise EngineError(f"docker context: there is none called {name} in {folder}")
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
