"""Streamable HTTP on trio: one endpoint a project, health, and metrics."""

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
    "waiting": "Runs that wait for their turn",
    "running": "Runs that are with the engine",
}
COUNTERS = {
    "sent": "Runs that an engine accepted",
    "done": "Runs that ended",
    "lost": "How often an engine or a worker lost a run",
    "duplicates": "Outcomes that were dropped since another had come",
    "kept_here": "Runs that were done on this machine though they might have been sent",
}


class FleetCollector(Collector):
    """Sums the figures of all open projects' fleets up, whenever it is asked."""

    def __init__(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        self._list_fleets = list_fleets

    def collect(self) -> Iterator[Metric]:
        """Give every figure as it is now; none where nothing is sent anywhere."""
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
        "ctxmode_fleet_seconds", "What each part of a run's way took", labels=["stage"]
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
            "Tool calls that were answered",
            ["tool", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "ctxmode_tool_seconds",
            "From a tool call to its answer",
            ["tool"],
            buckets=SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def show_fleets(self, list_fleets: Callable[[], Iterable[Fleet]]) -> None:
        """Show the figures of these, too, as they are when they are asked for."""
        self._registry.register(FleetCollector(list_fleets))

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        """Count one call; `outcome` is "ok" or "error"."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def text(self) -> bytes:
        """Write all figures as they are now."""
        return generate_latest(self._registry)


EVENTS_MAX = 256
BYTES_MAX = 4 * 1024 * 1024
RETRY_MS = 1000
"""How long a client is asked to wait before it takes up a stream again."""


class Events(EventStore):
    """The latest events of one conversation; the oldest are dropped beyond either limit."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[str, JSONRPCMessage | None, int]] = {}
        """By their ids: the stream, the message and its size in bytes."""
        self._numbers = count(1)
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event of a stream and return its id; None is the event that opens a stream."""
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
        """Send what came after an event of its stream, and return the stream; None if the event is
        not known any more."""
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
    """The SDK's conversations with events of their own each: the SDK names streams by the ids of
    requests, which are the same in every conversation."""

    @property
    def event_store(self) -> EventStore:
        """A new store: the SDK asks once for each conversation."""
        return Events()

    @event_store.setter
    def event_store(self, given: EventStore | None) -> None:
        """Take no notice of what the SDK sets, which would be one for all."""


BODY_BYTES_MAX = 8 * 1024 * 1024
CONVERSATIONS_MAX = 256  # of each name of a token
IDLE_S_MAX = 30 * 60.0
FULL, TOO_MANY = 503, 429
ENDPOINT = "mcp"


@dataclass(frozen=True, slots=True)
class Site:
    """What is served to whom, and where. Without a certificate it is plain HTTP."""

    config: Config
    tokens: Mapping[str, str]  # names by token
    tokens_from: str  # where they were read
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    others: Mapping[str, Path] = field(default_factory=dict)  # other projects, by name in URLs
    tools: Offer = field(default_factory=lambda: Offer(list_offered()))
    host: str = "127.0.0.1"
    port: int = 8765
    certificate: Path | None = None  # a file of PEM
    key: Path | None = None  # a file of PEM


async def serve_http(site: Site) -> None:
    """Serve until cancelled. A ContextModeError says that the address or the storage cannot be
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
    """ASGI: the table of paths behind the gate, made by `open_endpoints` only. Each name of a token
    has conversations of its own, which neither count nor are known to others."""

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
        """Answer one request that the gate let in."""
        path = scope["path"].rstrip("/")
        if path in self._folders:
            scope["ctxmode.config.project"] = self._folders[path]
            await self._converse(scope, receive, send)
        elif place := self._find_api(path):
            config = replace(self._config, project=self._apis[place])
            # As it was sent: an id may be a path, whose slashes are encoded.
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
            await JSONResponse({"error": f"there is only {served}"}, 404)(scope, receive, send)

    def _find_api(self, path: str) -> str:
        """Find the project whose facts a path is below: of two that fit, the longer."""
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
    """Return the path with what is encoded in it left so."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return str(raw.decode("ascii", "replace").partition("?")[0])


def _explain_full(name: str, send: Send) -> Send:
    """Word the answer to a client that has as many conversations as it may."""
    is_full = False

    async def send_explained(message: Message) -> None:
        nonlocal is_full
        if message["type"] == "http.response.start" and message["status"] == FULL:
            is_full = True
            full = JSONResponse(
                {
                    "error": f"{name} has {CONVERSATIONS_MAX} conversations open, the most of one "
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
    """Open the projects of a site, and for each name of its tokens a manager of conversations."""
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
