"""Who may speak with whom in a Dask cluster, in Dask's own words."""

from __future__ import annotations

import logging
import ssl
from typing import Any, Final

import trio
from distributed.security import Security

from fleet.engines.address import Address
from fleet.engines.credentials import Credentials, read_credentials
from fleet.errors import ClusterError, UnreachableError

CONNECT_S: Final = 10.0


def url_of(address: Address) -> str:
    """The scheduler's address, as Dask writes it."""
    return f"{'tls' if address.scheme == 'dask+tls' else 'tcp'}://{address.target}"


def security_of(credentials: Credentials | None) -> Security | None:
    """Certificates for both sides of every connection.

    Raises:
        ClusterError: a file can't be read or is no PEM, or others may read the key.
    """
    if credentials is None:
        return None
    read_credentials(credentials)
    ca, certificate, key = map(str, (credentials.ca, credentials.certificate, credentials.key))
    made: Any = Security  # untyped
    security: Security = made(
        require_encryption=True,
        tls_ca_file=ca,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )
    return security


async def try_out(address: Address, security: Security | None) -> None:
    """Reach a scheduler once, with its certificate; Dask itself tries for long, and tells less.

    Raises:
        ClusterError: the certificate is another authority's, or out of date.
        UnreachableError: nobody answers.
    """
    try:
        with trio.fail_after(CONNECT_S):
            async with await trio.open_tcp_stream(address.host, address.port) as stream:
                if security is not None:
                    untyped: Any = security
                    context = untyped.get_connection_args("client")["ssl_context"]
                    await trio.SSLStream(stream, context).do_handshake()
    except trio.BrokenResourceError as error:
        if isinstance(error.__cause__, ssl.SSLError):
            said = f"the certificate of {address.target} does not do: {error.__cause__}"
            raise ClusterError(said, "see cluster.ca and cluster.certificate") from None
        raise UnreachableError(f"no scheduler at {address.target}: {error}") from None
    except (OSError, trio.TooSlowError) as error:
        raise UnreachableError(f"no scheduler at {address.target}: {error}") from None


def quieten() -> None:
    """Have Dask write nothing to our stderr: what it meets is raised, or logged by us."""
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
