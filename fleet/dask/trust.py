"""Who may speak with whom in a Dask cluster, in Dask's own words."""

from __future__ import annotations

import logging
import ssl
from typing import Any, Final

import trio
from distributed.security import Security

from fleet.cluster import Cluster, Credentials, check_credentials
from fleet.errors import ClusterError, UnreachableError

CONNECT_S: Final = 10.0
_ENDED: Final = "it ended the connection"


def security_of(credentials: Credentials | None) -> Security | None:
    """Make certificates for both sides of every connection.

    Raises:
        ClusterError: a file can't be read or is not PEM, or others may read the key.
    """
    if credentials is None:
        return None
    check_credentials(credentials)
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


async def try_out(cluster: Cluster, security: Security | None) -> None:
    """Reach a scheduler once, until it greets; Dask itself tries for long, and reports less.

    Raises:
        ClusterError: one side's certificate is another authority's, or out of date.
        UnreachableError: nobody answers.
    """
    try:
        with trio.fail_after(CONNECT_S):
            async with await trio.open_tcp_stream(cluster.host, cluster.port) as connection:
                stream: trio.abc.Stream = connection
                if security is not None:
                    untyped: Any = security
                    context = untyped.get_connection_args("client")["ssl_context"]
                    stream = trio.SSLStream(connection, context)
                # A scheduler speaks first. Where it writes to a connection that has ended, Python
                # with OpenSSL 3.4 or later takes that error for another's, and drops it, too.
                if not await stream.receive_some(1):
                    raise _unreached(cluster, _ENDED)
    except trio.BrokenResourceError as error:
        cause = error.__cause__
        if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            raise _unreached(cluster, _ENDED) from None
        if isinstance(cause, ssl.SSLError):
            said = f"{_blame(cluster, cause)}: {cause}"
            raise ClusterError(said, "see cluster.ca and cluster.certificate") from None
        raise _unreached(cluster, cause or error) from None
    except trio.TooSlowError:
        raise _unreached(cluster, f"it says nothing within {CONNECT_S:g} s") from None
    except OSError as error:
        raise _unreached(cluster, error) from None


def _unreached(cluster: Cluster, why: object) -> UnreachableError:
    return UnreachableError(f"no scheduler at {cluster.target}: {why}")


def _blame(cluster: Cluster, error: ssl.SSLError) -> str:
    """Say which side a handshake fails at: an alert is the other's word."""
    if "_ALERT_" in str(error.reason):
        return f"{cluster.target} refuses this connection"
    return f"the certificate of {cluster.target} does not do"


def quieten() -> None:
    """Have Dask write nothing to our stderr: what it meets is raised, or logged by us."""
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
