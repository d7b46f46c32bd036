"""Destinations of a pack: stdout, a file, or a host's file; optionally compressed."""

from __future__ import annotations

import ipaddress
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

from ctxmode.config.locations import Config
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.packs import PackAnswer, check_replaceable, prepare_folder, write_text
from ctxmode.operations.project_maps import redact
from kb.tokens import estimate
from repomap.reading import HEADS, JSON_HEAD, MARK, RULES_HEAD

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

# A compressor returns untrusted text: the caller redacts and counts it again.

URL = "http://127.0.0.1:8787"
URL_VARIABLE = "HEADROOM_BASE_URL"
TOKEN_VARIABLE = "HEADROOM_PROXY_TOKEN"  # noqa: S105 - its name
DEADLINE_S = 60.0
CONNECT_S = 5.0
ANSWER_BYTES = 32 << 20
MODEL = "claude-sonnet-4-5"
"""The model whose tokens Headroom counts; the pack is counted by our own estimate afterwards."""


class Compressor(Protocol):
    """A function that returns a text with the same meaning in up to `budget` tokens."""

    def __call__(self, text: str, *, budget: int) -> str: ...


def keep_text(text: str, *, budget: int) -> str:
    """Return the text as it is."""
    del budget
    return text


def compress_by_http(text: str, *, budget: int) -> str:
    """Compress a text with a Headroom proxy on this machine (`POST /v1/compress`, Headroom 0.42).

    The text is sent as a tool's answer, because Headroom does not change user messages.

    Raises:
        UsageError: the proxy's address is not on this machine.
        ContextModeError: it cannot be reached, takes longer than a minute, or returns no text.
    """
    del budget  # Headroom 0.42 has no such parameter
    url = _find_proxy(os.environ)
    call = {"id": "pack", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Which files is the task about?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "pack", "content": text},
    ]
    answer = _post(url, {"model": MODEL, "messages": messages})
    return _read_text(answer)


COMPRESSORS: Mapping[str, Compressor] = MappingProxyType(
    {"none": keep_text, "http": compress_by_http}
)


def _find_proxy(environ: Mapping[str, str]) -> SplitResult:
    """Return the proxy's address, which must be on this machine: packs are not sent elsewhere."""
    given = environ.get(URL_VARIABLE) or URL
    remedy = f"Set {URL_VARIABLE} to an address such as {URL}."
    try:
        url = urlsplit(given)
        _ = url.port
    except ValueError as error:
        raise UsageError(f"{URL_VARIABLE} is not a valid address: {error}", remedy) from None
    if url.scheme != "http" or url.username or url.query or url.fragment or not url.hostname:
        raise UsageError(f"{URL_VARIABLE} is not a plain http address", remedy)
    try:
        is_here = ipaddress.ip_address(url.hostname).is_loopback
    except ValueError:
        is_here = url.hostname == "localhost"
    if not is_here:
        raise UsageError(f"{URL_VARIABLE} is not on this machine: {url.hostname}", remedy)
    return url


def _post(url: SplitResult, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever it answers
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - as above

    until = time.monotonic() + DEADLINE_S
    # Looking up the name could return another machine's address.
    host = "127.0.0.1" if url.hostname == "localhost" else str(url.hostname)
    connection = HTTPConnection(host, url.port or 80, timeout=CONNECT_S)
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get(TOKEN_VARIABLE):
        headers["X-Headroom-Proxy-Token"] = token
    try:
        connection.connect()
        connection.sock.settimeout(DEADLINE_S)
        path = f"{url.path.rstrip('/')}/v1/compress"
        connection.request("POST", path, json.dumps(body).encode(), headers)
        response = connection.getresponse()
        data = _read_until(connection, response, until)
    except (OSError, ValueError, HTTPException) as error:
        raise ContextModeError(
            f"the compressor at {url.netloc} failed: {error or type(error).__name__}",
            "Start it (headroom proxy), or omit --compress.",
        ) from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise ContextModeError(
            f"the compressor answered {response.status}: {data[:200].decode('utf-8', 'replace')}",
            "See its log, or omit --compress.",
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ContextModeError(
            "the compressor did not return JSON", f"Set {URL_VARIABLE} to a Headroom proxy."
        ) from error


def _read_until(connection: HTTPConnection, response: HTTPResponse, until: float) -> bytes:
    """Read an answer to its end, at most until the deadline, even if bytes arrive slowly."""
    parts: list[bytes] = []
    size = 0
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took longer than {DEADLINE_S:.0f} s")
        if connection.sock is not None:
            connection.sock.settimeout(left)
        part = response.read1(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > ANSWER_BYTES:
            raise ValueError(f"its answer has more than {ANSWER_BYTES >> 20} MiB")


def _read_text(answer: Any) -> str:  # noqa: ANN401 - not trusted to be anything
    """Return the text of the tool's message; raise ContextModeError if it has none."""
    messages = answer.get("messages") if isinstance(answer, dict) else None
    for one in messages if isinstance(messages, list) else ():
        if isinstance(one, dict) and one.get("role") == "tool":
            content = one.get("content")
            if isinstance(content, str) and content.strip():
                return content
    raise ContextModeError(
        "the compressor returned no text", f"Set {URL_VARIABLE} to a Headroom proxy."
    )


RULES_SUFFIX = ".mdc"
EXPORTERS: Mapping[str, tuple[str, str]] = json.loads(
    Path(__file__).with_name("pack_exporters.json").read_bytes()
)
"""By host: the file's name, and how it is loaded; {path} is relative to the project."""


def make_head(file_name: str) -> str:
    """Return the first lines of a file: our mark, after the frontmatter that a rules file needs."""
    return RULES_HEAD if file_name.endswith(RULES_SUFFIX) else MARK


def write_usage(usage: str) -> str:
    """Describe the purpose of a file and how it is loaded."""
    return (
        f"{usage} Prefer these files to a search for others; open a "
        "file where a part of it is missing. `context-mode pack` wrote it, and replaces it."
    )


@dataclass(frozen=True, slots=True)
class Output:
    """A destination for a pack."""

    path: Path | None = None  # None means stdout
    head: str = ""  # the first lines
    usage: str = ""  # how it is loaded


def prepare_output(config: Config, *, export: str, output: str, is_json: bool) -> Output:
    """Choose the destination, and check that it may be written before any work is done. Raise
    UsageError if a file that is not ours has that name, or its folder is missing."""
    exporter = EXPORTERS.get(export)
    if not (exporter or output):
        return Output()
    if output:
        path = Path.cwd() / Path(output).expanduser()
    else:
        assert exporter is not None
        path = prepare_folder(config.project) / exporter[0]
    check_replaceable(path, (JSON_HEAD,) if is_json else HEADS)
    if exporter is None:
        return Output(path, MARK if is_json else make_head(path.name))
    below = path.is_relative_to(config.project)
    shown = path.relative_to(config.project) if below else path
    return Output(path, make_head(path.name), exporter[1].format(path=shown))


def write_pack(output: Output, answer: PackAnswer, *, compress: str, keeps: bool) -> int:
    """Write a pack to its destination; return its tokens. With `keeps` secrets are left in it.
    Raise ContextModeError if it cannot be compressed or written; no file is changed then."""
    pack = answer.pack
    text, used = pack.text, pack.used
    if compress != "none":
        text, used = _compress(output.head, answer, compress, keeps=keeps)
    if output.path is None:
        sys.stdout.write(text)
    else:
        write_text(output.path, text)
    return used


def _compress(head: str, answer: PackAnswer, way: str, *, keeps: bool) -> tuple[str, int]:
    """Compress the text after the mark; redact and count the result like any other text."""
    pack = answer.pack
    start = f"{head}\n\n" if head else ""
    body = COMPRESSORS[way](pack.text.removeprefix(start), budget=pack.asked.budget)
    text = start + (body if keeps else redact(body)[0])
    if not text.endswith("\n"):
        text += "\n"
    used = estimate(text, pack.asked.estimator)
    if used > pack.asked.budget:
        raise ContextModeError(
            f"the compressed pack has {used} tokens, over the budget of {pack.asked.budget}",
            "Omit --compress.",
        )
    return text, used
