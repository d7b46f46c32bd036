"""Fetching of one URL over HTTP: every hop is judged and resolved once. The request goes to the
checked address, so that a name cannot resolve to another one afterwards."""

from __future__ import annotations

import email.utils
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from urllib.parse import urldefrag, urljoin

import httpx2
import trio

from base.addresses import CheckedUrl, check_address, check_url
from ctxmode import __version__
from ctxmode.web.model import (
    Bounds,
    FetchError,
    Judge,
    Network,
    Response,
    Validators,
    ValidatorsOf,
)

ENCODINGS = "gzip, deflate"
_GZIP_OR_ZLIB, _RAW = 47, -15


async def read_bounded(chunks: AsyncIterator[bytes], encoding: str, bytes_max: int) -> bytes:
    """Read and decompress a body. Raise FetchError if it is damaged, larger than `bytes_max` before
    or after decompression, or in an encoding that was not requested."""
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > 1 or any(name not in ("gzip", "x-gzip", "deflate") for name in names):
        raise FetchError(f"its encoding {encoding!r} was not requested")
    inflate = _Inflate(bytes_max) if names else None
    received, body = 0, bytearray()
    async for chunk in chunks:
        received += len(chunk)
        if received > bytes_max:
            raise too_large(bytes_max)
        body += chunk if inflate is None else inflate.feed(chunk)
    if inflate is not None:
        inflate.finish()
    return bytes(body)


def too_large(bytes_max: int) -> FetchError:
    return FetchError(
        f"it is larger than {bytes_max // (1024 * 1024) or bytes_max} "
        f"{'MiB' if bytes_max >= 1024 * 1024 else 'bytes'}",
        "Fetch a smaller part of it.",
    )


class _Inflate:
    """A decompressor with a limit on its output."""

    def __init__(self, bytes_max: int) -> None:
        self._room = self._bytes_max = bytes_max
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        out = bytearray()
        while data:
            piece = self._inflate(data)
            self._begun = True
            if len(piece) > self._room:
                raise too_large(self._bytes_max)
            self._room -= len(piece)
            out += piece
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                data = self._stream.unused_data
                if not data.startswith(b"\x1f\x8b"):
                    break  # only padding follows the last member
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        return bytes(out)

    def _inflate(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, self._room + 1)
        except zlib.error as error:
            if self._begun:
                raise FetchError(f"its compression is damaged: {error}") from error
        self._stream = zlib.decompressobj(_RAW)  # some servers send raw deflate
        try:
            return self._stream.decompress(data, self._room + 1)
        except zlib.error as error:
            raise FetchError(f"its compression is damaged: {error}") from error

    def finish(self) -> None:
        if self._begun and not self._stream.eof:
            raise FetchError("its compressed body is incomplete")


ACCEPT = (
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.9, "
    "text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5"
)
Send = Callable[[httpx2.AsyncClient], Awaitable[httpx2.Response]]
"""Sends one request to a checked address."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
WAITS = frozenset({429, 503})
NOT_MODIFIED = 304


async def get(
    url: str,
    *,
    judge: Judge,
    network: Network,
    bounds: Bounds,
    validators: ValidatorsOf = lambda _: None,
) -> Response:
    """Fetch `url`, with its redirects; each hop gets its own `validators`. Raise FetchError if a
    hop is forbidden, fails, or exceeds a limit."""
    with trio.move_on_after(bounds.total_s):
        return await _follow(_resolve_target(url, ""), judge, network, bounds, validators)
    raise FetchError(
        f"it took longer than {bounds.total_s:g} s", "Try again, or raise the timeout."
    )


async def resolve(host: str, port: int) -> Sequence[str]:
    """Look up the addresses of a host with the system's resolver, each once, in order."""
    found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def _follow(
    url: str, judge: Judge, network: Network, bounds: Bounds, validators: ValidatorsOf
) -> Response:
    passed = [url]
    while True:
        judge(url)
        checked = check_url(url, allow_private=network.allow_private)
        if not checked.allowed:
            raise FetchError(f"not allowed to fetch {url}: {checked.refused}")
        addresses = await _look_up(checked, network)
        headers = _build_headers(checked, validators(url))
        send = partial(_send, url=url, checked=checked, addresses=addresses, headers=headers)
        answer = await _ask(url, send, network, bounds)
        if isinstance(answer, Response):
            return answer
        url = _resolve_target(url, answer)
        if url in passed:
            raise FetchError(f"it redirects in a circle, back to {url}")
        if len(passed) > bounds.redirects_max:
            raise FetchError(f"it redirects more than {bounds.redirects_max} times")
        passed.append(url)


def _resolve_target(url: str, location: str) -> str:
    """Resolve a redirect's target against `url`, without a fragment."""
    try:
        return urldefrag(urljoin(url, location)).url
    except ValueError as error:
        raise FetchError(f"malformed URL {location or url!r}: {error}") from error


async def _look_up(checked: CheckedUrl, network: Network) -> Sequence[str]:
    """Look up the host's addresses and check each; raise FetchError if one is forbidden."""
    try:
        found = await network.resolve(checked.host, checked.port)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FetchError(f"cannot resolve {checked.host}: {reason}") from error
    if not found:
        raise FetchError(f"{checked.host} has no address")
    for address in found:
        if refused := check_address(address, allow_private=network.allow_private):
            raise FetchError(f"not allowed to fetch {checked.host}: {refused}")
    return found


async def _ask(url: str, send: Send, network: Network, bounds: Bounds) -> Response | str:
    """Return the answer of one hop, or its redirect target; wait if the server asks for it."""
    certificates = network.certificates or ssl.create_default_context()
    async with httpx2.AsyncClient(
        verify=certificates, trust_env=False, follow_redirects=False, timeout=bounds.idle_s
    ) as client:
        for attempt in range(bounds.retries_max + 1):
            response = await send(client)
            try:
                wait_s = _find_wait(response)
                if wait_s is None:
                    return await _read_answer(url, response, bounds)
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                    await response.aclose()
            if attempt == bounds.retries_max or wait_s > bounds.retry_s_max:
                raise FetchError(
                    f"its server answered {response.status_code} and asks to wait {wait_s:.0f} s",
                    "Try again after that.",
                )
            await trio.sleep(wait_s)
    raise AssertionError("unreachable")


def _build_headers(checked: CheckedUrl, validators: Validators | None) -> dict[str, str]:
    etag, last_modified = validators or (None, None)
    host = f"[{checked.host}]" if ":" in checked.host else checked.host
    default = {"http": 80, "https": 443}[checked.scheme]
    headers = {
        "Host": host if checked.port == default else f"{host}:{checked.port}",
        "User-Agent": f"context-mode/{__version__}",
        "Accept": ACCEPT,
        "Accept-Encoding": ENCODINGS,
    }
    if etag:
        headers["If-None-Match"] = etag
    if last_modified:
        headers["If-Modified-Since"] = last_modified
    return headers


async def _send(
    client: httpx2.AsyncClient,
    *,
    url: str,
    checked: CheckedUrl,
    addresses: Sequence[str],
    headers: Mapping[str, str],
) -> httpx2.Response:
    """Return the answer's head, from the first checked address that accepts a connection."""
    failure: Exception | None = None
    for address in addresses:
        try:
            target = httpx2.URL(url).copy_with(host=address, port=checked.port)
            request = client.build_request(
                "GET",
                target,
                headers=headers,
                # The certificate is checked for the name, although the connection uses an address.
                extensions={"sni_hostname": checked.host},
                timeout=client.timeout,
            )
            return await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            failure = error
            if _ssl_error(error) is not None:
                break
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            failure = error
            break
    raise _build_error(checked.host, failure) from failure


async def _read_answer(url: str, response: httpx2.Response, bounds: Bounds) -> Response | str:
    status, headers = response.status_code, response.headers
    if status == NOT_MODIFIED:
        return Response(url, unchanged=True)
    if status in REDIRECTS:
        if not headers.get("location"):
            raise FetchError(f"its server answered {status} without a location")
        return str(headers["location"])
    if status != 200:
        raise FetchError(f"its server answered {status} {response.reason_phrase}".rstrip())
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > bounds.bytes_max:
        raise too_large(bounds.bytes_max)
    encoding = headers.get("content-encoding", "")
    try:
        async with aclosing(response.aiter_raw()) as chunks:
            body = await read_bounded(chunks, encoding, bounds.bytes_max)
    except httpx2.HTTPError as error:
        raise _build_error(url, error) from error
    return Response(
        url,
        body,
        headers.get("content-type", ""),
        headers.get("etag"),
        headers.get("last-modified"),
    )


def _find_wait(response: httpx2.Response) -> float | None:
    """Return how many seconds a busy server asks to wait; None if it does not ask."""
    given = response.headers.get("retry-after", "").strip()
    if response.status_code not in WAITS or not given:
        return None
    if given.isdecimal() and len(given) < 10:
        return float(given)
    moment = email.utils.parsedate_tz(given)
    return None if moment is None else max(0.0, email.utils.mktime_tz(moment) - time.time())


def _build_error(where: str, error: Exception | None) -> FetchError:
    tls = _ssl_error(error)
    if tls is not None:
        reason = getattr(tls, "verify_message", "") or tls.reason or str(tls)
        return FetchError(f"cannot verify the certificate of {where}: {reason}")
    if isinstance(error, httpx2.TimeoutException):
        return FetchError(f"{where} did not answer in time")
    causes = (str(cause) for cause in _list_causes(error))
    reason = next((words for words in causes if words), type(error).__name__)
    return FetchError(f"{where} failed: {reason}")


def _ssl_error(error: BaseException | None) -> ssl.SSLError | None:
    return next((cause for cause in _list_causes(error) if isinstance(cause, ssl.SSLError)), None)


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
