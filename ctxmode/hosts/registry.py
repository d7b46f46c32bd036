"""Hosts of agents, one folder each, found by listing the folders.

A folder has `row.toml` (registration), and may have `__init__` (data for hooks), `events` (answers
of hooks), `transcript` (reader of sessions) and `export` (reader of saved conversations). Without
`events`, a host answers like the one that LIKE names, except for ANSWERS: functions of
`hook_types`. Hooks load this module, so it loads a host's modules only when they are needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Protocol

    from ctxmode.hosts.hooks.hook_types import Answer, Purpose, Ruling, ToolCall
    from memory.sessions import Record
    from memory.sessions.importers import Importer

    Recorder = Callable[[Mapping[str, Any], str, str, str, float], list[Record]]
    """Reader of an event, its name, the session, its folder, and the time."""

    class Adapter(Protocol):
        """One host with hooks: the data of its folder, and the functions of its `events`."""

        FOLDER_VARIABLES: tuple[str, ...]
        """Documented environment variables with the host's working folder."""

        EVENTS: Mapping[str, Purpose]
        """Its events by name, with their purpose: `setup` registers them, hooks answer them."""

        @staticmethod
        def call(event: Mapping[str, Any]) -> ToolCall | None:
            """Return the call of an event; None if no rule can apply to it."""

        @staticmethod
        def answer_ruling(ruling: Ruling, event_name: str) -> Answer:
            """Return the answer for a ruling; events that decide nothing pass."""

        @staticmethod
        def add_context(text: str, event_name: str) -> Answer:
            """Return the answer that adds a text to the conversation, if the event can."""


FOLDER = os.path.dirname(__file__)
NAME_CHARS_MAX = 40
NAMELESS = "mcp"
"""The agent of a client without a name."""

_OLDER_NAMES = {"gemini_cli": "gemini"}
"""Folders whose sessions are stored under another name."""

_EXPORT = "_export"


def list_folders(file: str) -> tuple[str, ...]:
    """List the names of the folders that have a file."""
    names = sorted(os.listdir(FOLDER))
    return tuple(name for name in names if os.path.exists(f"{FOLDER}/{name}/{file}"))


HOSTS = tuple(
    name.replace("_", "-")
    for name in list_folders("row.toml")
    if os.path.exists(f"{FOLDER}/{name}/__init__.py")
)
"""The hosts whose hooks are answered."""


def find_adapter(host: str) -> Adapter | None:
    """Return the adapter of a host; None if the host is unknown."""
    if host not in HOSTS:
        return None
    from types import SimpleNamespace  # noqa: PLC0415 - few callers need an adapter

    from ctxmode.hosts.hooks import hook_types  # noqa: PLC0415

    row = vars(_load(host.replace("-", "_")))
    parts = row | vars(_load(f"{row.get('LIKE', host.replace('-', '_'))}.events"))
    parts |= {name: getattr(hook_types, of) for name, of in row.get("ANSWERS", {}).items()}
    found: Any = SimpleNamespace(**parts)
    adapter: Adapter = found
    return adapter


def _load(name: str) -> Any:  # noqa: ANN401 - a module
    name = f"ctxmode.hosts.{name}"
    __import__(name)  # `importlib` would cost each hook a millisecond
    return sys.modules[name]


def list_events(spoken: Adapter, purpose: Purpose) -> tuple[str, ...]:
    """List the events of a host for one purpose; the one to register comes first."""
    return tuple(name for name, its in spoken.EVENTS.items() if its == purpose)


def has_trait(host: str, trait: str) -> bool:
    """Return whether the data of a host has a trait."""
    return host in HOSTS and trait in getattr(_load(host.replace("-", "_")), "TRAITS", ())


def find_agent(host: str) -> str:
    """Return the name in stores of a host with hooks; empty if its sessions are not recorded."""
    agent: str = getattr(_load(host.replace("-", "_")), "AGENT", "") if host in HOSTS else ""
    return agent


def find_recorder(host: str) -> Recorder:
    """Return the function that reads the records of a host's events."""
    found: Recorder = _load(f"{host.replace('-', '_')}.transcript").list_records
    return found


def list_clients() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each recorded agent, its host, and the words in its MCP client's name."""
    for host in HOSTS:
        if agent := find_agent(host):
            yield agent, host, _load(host.replace("-", "_")).CLIENT


def name_agent(client: str) -> str:
    """Return the agent of an MCP client: that of its host's transcripts, or one from its name."""
    return find_host(client) or "_".join(_split(client))[:NAME_CHARS_MAX] or NAMELESS


def find_host(client: str) -> str:
    """Return the agent of an MCP client's host; empty if its sessions are not recorded."""
    words = set(_split(client))
    return next((agent for agent, _, of in list_clients() if words.issuperset(of)), "")


def _split(client: str) -> list[str]:
    import re  # noqa: PLC0415 - hooks need no client's name

    return re.findall(r"[a-z0-9]+", client.lower())


def list_agents() -> tuple[str, ...]:
    """List the names in stores of the hosts whose transcripts are read."""
    return tuple(_OLDER_NAMES.get(name, name) for name in list_folders("transcript.py"))


def list_importers() -> Iterator[Importer]:
    """Yield the rows of hosts, whose transcripts are found."""
    for agent in list_agents():
        if (importer := find_importer(agent)) is not None:
            yield importer


def find_importer(name: str) -> Importer | None:
    """Return the row of an agent, or of a form; None if unknown."""
    from memory.sessions.importers import find_form  # noqa: PLC0415 - few hooks read a transcript

    agent, kind = name.removesuffix(_EXPORT), "export" if name.endswith(_EXPORT) else "transcript"
    folders = list_folders(f"{kind}.py")
    folder = next((one for one in folders if _OLDER_NAMES.get(one, one) == agent), "")
    if not folder:
        return find_form(name)
    importer: Importer = _load(f"{folder}.{kind}").IMPORTER
    return importer
