"""Streamable HTTP on trio: one endpoint per project, health, and metrics."""

from __future__ import annotations

import collections
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count, dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from hypercorn.config import Config as Hypercorn
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import JSONRPCMessage
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from ctxmode.config.locations import Config, prepare_storage
from ctxmode.mcp import conversation
from ctxmode.mcp.client import open_projects
from ctxmode.mcp.http import gate
from ctxmode.mcp.http.connections import Connections, listen
from ctxmode.mcp.http.gate import LOOPBACK, Gate
from ctxmode.mcp.http.memory_api import PLACE, answer_api
from ctxmode.mcp.http.sdk_server import build_sdk_server
from ctxmode.mcp.server import Offer, Server
from ctxmode.mcp.tools import list_offered

if TYPE_CHECKING:
    from fleet import Fleet

GAUGES = {
    "waiting": "Queued runs",
    "running": "Runs that an engine is processing",
}
COUNTERS = {
    "sent": "Runs that an engine accepted",
    "done": "Runs that ended",
    "lost": "Number of times that an engine or a worker lost a run",
    "duplicates": "Outcomes that were dropped because another arrived first",
    "kept_here": "Runs done on this machine that could have been sent",
}


class FleetCollector(Collector):
    """Collector that sums the figures of all open projects' fleets on each request."""

    def __init__(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        self._list_fleets = list_fleets

    def collect(self) -> Iterator[Metric]:
        """Yield all current figures; none without fleets."""
        fleets = [(f.settings.url.partition("://")[0], f) for f in self._list_fleets()]
        if not fleets:
            return
        for name, about in GAUGES.items():
            gauge = GaugeMetricFamily(f"ctxmode_fleet_{name}", about, labels=["owner", "engine"])
            now = _sum((e, getattr(fleet.turns, name)()) for e, fleet in fleets)
            for labels, amount in now.items():
                gauge.add_metric(labels, amount)
            yield gauge
        for name, about in COUNTERS.items():
            counts = CounterMetricFamily(f"ctxmode_fleet_{name}", about, labels=["owner", "engine"])
            found = _sum((e, getattr(fleet.figures, name)) for e, fleet in fleets)
            for labels, amount in found.items():
                counts.add_metric(labels, amount)
            yield counts
        yield from _measure([fleet for _, fleet in fleets])


def _sum(counted: Iterable[tuple[str, dict[str, int]]]) -> collections.Counter[tuple[str, str]]:
    total: collections.Counter[tuple[str, str]] = collections.Counter()
    for engine, by_owner in counted:
        for owner, amount in by_owner.items():
            total[owner, engine] += amount
    return total


def _measure(fleets: list[Fleet]) -> Iterator[Metric]:
    seconds = SummaryMetricFamily(
        "ctxmode_fleet_seconds", "Time of each stage of a run", labels=["stage"]
    )
    stages = {stage for fleet in fleets for stage in fleet.figures.times}
    for stage in sorted(stages):
        times = sum(fleet.figures.times[stage] for fleet in fleets)
        took_s = sum(fleet.figures.seconds[stage] for fleet in fleets)
        seconds.add_metric([stage.value], times, took_s)
    yield seconds
    moved = CounterMetricFamily("ctxmode_fleet_bytes", "Bytes of blobs", labels=["direction"])
    moved.add_metric(["sent"], sum(fleet.figures.bytes_sent for fleet in fleets))
    moved.add_metric(["back"], sum(fleet.figures.bytes_back for fleet in fleets))
    yield moved


SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "ctxmode_tool_calls",
            "Answered tool calls",
            ["tool", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "ctxmode_tool_seconds",
            "Time from a tool call to its answer",
            ["tool"],
            buckets=SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def show_fleets(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        """Add the current figures of fleets to the metrics."""
        self._registry.register(FleetCollector(list_fleets))

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call; `outcome` is "ok" or "error"."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def text(self) -> bytes:
        """Write all current figures."""
        return generate_latest(self._registry)


EVENTS_MAX = 256
BYTES_MAX = 4 * 1024 * 1024
RETRY_MS = 1000  # milliseconds that a client should wait before it resumes a stream


class Events(EventStore):
    """The latest events of one conversation; the oldest are dropped beyond either limit."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[str, JSONRPCMessage | None, int]] = {}
        """By event ID: the stream, the message and its size in bytes."""
        self._numbers = count(1)
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Store an event of a stream and return its ID; None is the event that opens a stream."""
        size = 0 if message is None else len(message.model_dump_json())
        event_id = str(next(self._numbers))
        self._events[event_id] = stream_id, message, size
        self._bytes += size
        while len(self._events) > EVENTS_MAX or self._bytes > BYTES_MAX:
            *_, dropped = self._events.pop(next(iter(self._events)))
            self._bytes -= dropped
        return event_id

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send the events after `last_event_id` in its stream, and return the stream; None if the
        event is no longer stored."""
        if last_event_id not in self._events:
            return None
        known, *_ = self._events[last_event_id]
        later = dropwhile(lambda one: one[0] != last_event_id, tuple(self._events.items()))
        next(later)
        for event_id, (stream, message, _) in later:
            if stream == known and message is not None:
                await send_callback(EventMessage(message, event_id))
        return known


class Conversations(StreamableHTTPSessionManager):
    """The SDK's conversations, each with its own events: the SDK names streams by request IDs,
    which repeat in every conversation."""

    @property
    def event_store(self) -> EventStore:
        """A new store; the SDK reads this once for each conversation."""
        return Events()

    @event_store.setter
    def event_store(self, given: EventStore | None) -> None:
        """Ignore the SDK's assignment, which would set one store for all."""


BODY_BYTES_MAX = 8 * 1024 * 1024
CONVERSATIONS_MAX = 256  # for each token name
IDLE_S_MAX = 30 * 60.0
FULL, TOO_MANY = 503, 429
ENDPOINT = "mcp"


@dataclass(frozen=True, slots=True)
class Site:
    """Settings of a server: projects, tokens, address and tools. Without a certificate it serves
    plain HTTP."""

    config: Config
    tokens: Mapping[str, str]  # token names by token
    tokens_from: str  # file or variable they were read from
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    others: Mapping[str, Path] = field(default_factory=dict)  # other projects, by name in URLs
    tools: Offer = field(default_factory=lambda: Offer(list_offered()))
    host: str = "127.0.0.1"
    port: int = 8765
    certificate: Path | None = None  # PEM file
    key: Path | None = None  # PEM file


async def serve_http(site: Site) -> None:
    """Serve until cancelled; raise ContextModeError if the address or the storage cannot be
    used."""
    conversation.configure()
    prepare_storage(site.config)
    listener = listen(site.host, site.port)
    port = listener.getsockname()[1]
    settings = Hypercorn()
    if site.certificate and site.key:
        settings.certfile, settings.keyfile = str(site.certificate), str(site.key)
    hosts = frozenset({*LOOPBACK, _bracket(site.host), *(h.lower() for h in site.hosts)})
    _announce(site, port)
    async with open_endpoints(site) as endpoints:
        gate = Gate(endpoints, site.tokens, hosts, site.origins)
        await Connections(gate, settings).serve(listener)


class Endpoints:
    """ASGI app with the paths that the gate protects, made only by `open_endpoints`. Each token
    name has its own conversations and its own limit on them."""

    def __init__(
        self,
        site: Site,
        metrics: Metrics,
        conversations: Mapping[str, Conversations],
    ) -> None:
        self._folders = {f"/{ENDPOINT}": site.config.project} | {
            f"/{name}/{ENDPOINT}": folder for name, folder in site.others.items()
        }
        self._apis = {f"/{PLACE}": site.config.project} | {
            f"/{name}/{PLACE}": folder for name, folder in site.others.items()
        }
        self._config = site.config
        self._metrics = metrics
        self._conversations = conversations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request that the gate admitted."""
        path = scope["path"].rstrip("/")
        if path in self._folders:
            scope["ctxmode.config.project"] = self._folders[path]
            await self._converse(scope, receive, send)
        elif place := self._find_api(path):
            config = replace(self._config, project=self._apis[place])
            # Not decoded, because an ID may be a path with encoded slashes.
            sent = "/".join(_raw_path(scope).split("/")[place.count("/") + 1 :])
            await answer_api(config, sent, scope, receive, send)
        elif path == "/healthz":
            await JSONResponse({"status": "ok"})(scope, receive, send)
        elif path == "/metrics":
            await Response(self._metrics.text(), media_type="text/plain; version=0.0.4")(
                scope, receive, send
            )
        else:
            served = ", ".join((*self._folders, *self._apis, "/healthz", "/metrics"))
            error = f"path not found; served paths: {served}"
            await JSONResponse({"error": error}, 404)(scope, receive, send)

    def _find_api(self, path: str) -> str:
        """Find the API prefix of a path; the longest of several."""
        fitting = (place for place in self._apis if f"{path}/".startswith(f"{place}/"))
        return max(fitting, key=len, default="")

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            messages = await gate.receive_body(receive, BODY_BYTES_MAX)
            if problem := await gate.find_problem(messages, BODY_BYTES_MAX):
                await JSONResponse({"error": problem}, 400)(scope, receive, send)
                return
            receive = gate.replay(messages, receive)
        name = scope["user"].username
        await self._conversations[name].handle_request(scope, receive, _explain_full(name, send))


def _raw_path(scope: Scope) -> str:
    """Return the path without decoding it."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return str(raw.decode("ascii", "replace").partition("?")[0])


def _explain_full(name: str, send: Send) -> Send:
    """Replace the answer to a client that has reached its limit of conversations."""
    is_full = False

    async def send_explained(message: Message) -> None:
        nonlocal is_full
        if message["type"] == "http.response.start" and message["status"] == FULL:
            is_full = True
            full = JSONResponse(
                {
                    "error": f"{name} has {CONVERSATIONS_MAX} open conversations, the limit of a "
                    "token: end one with DELETE, or wait until one was silent for "
                    f"{IDLE_S_MAX / 60:.0f} minutes"
                },
                TOO_MANY,
            )
            await send({"type": message["type"], "status": TOO_MANY, "headers": full.raw_headers})
            await send({"type": "http.response.body", "body": full.body})
        elif not is_full:
            await send(message)

    return send_explained


@asynccontextmanager
async def open_endpoints(site: Site) -> AsyncIterator[Endpoints]:
    """Open the projects of a site, and a manager of conversations for each token name."""
    metrics = Metrics()
    async with open_projects(site.config) as projects, AsyncExitStack() as houses:
        metrics.show_fleets(lambda: projects.fleets)
        server = build_sdk_server(
            Server(projects, site.tools.callable, metrics.observe), site.tools
        )
        conversations = {}
        for name in set(site.tokens.values()):
            conversations[name] = Conversations(
                server,
                retry_interval=RETRY_MS,
                session_idle_timeout=IDLE_S_MAX,
                max_request_body_size=BODY_BYTES_MAX,
                max_sessions=CONVERSATIONS_MAX,
            )
            await houses.enter_async_context(conversations[name].run())
        yield Endpoints(site, metrics, conversations)


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


def _announce(site: Site, port: int) -> None:
    scheme = "https" if site.certificate else "http"
    base = f"{scheme}://{_bracket(site.host)}:{port}"
    lines = [f"serving {site.config.project} at {base}/{ENDPOINT}"]
    lines += [f"serving {f} at {base}/{name}/{ENDPOINT}" for name, f in site.others.items()]
    lines.append(f"bearer tokens: {site.tokens_from}")
    if site.certificate is None and _bracket(site.host) not in LOOPBACK:
        lines.append("warning: without --certificate and --key, tokens travel unencrypted")
    sys.stderr.write("".join(f"context-mode: {line}\n" for line in lines))
    sys.stderr.flush()
