"""What is answered from data, before anything else is loaded: who serves, and the tools.

`tool_list.json` is the tools as the protocol lists them, in order; `python docs/tool_list.py`
writes it from their rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxmode.config.file_names import has_drafts
from ctxmode.mcp import protocol

# The protocol's structured content says the same as the text. Some agents' hosts show their model
# both, some only the data as JSON: each costs more than the text. A client that is no known host
# may be a program that reads the data.

_NAMES = re.compile(
    "amp|claude|cline|codex|copilot|crush|cursor|droid|gemini|goose|jetbrains|junie|kiro|opencode"
    "|qwen|roo|vscode|windsurf|zed"
)
"""Words in the names by which agents' hosts call themselves (`clientInfo.name`)."""


def reads_text_only(client: str) -> bool:
    """Tell whether a client of that name shows its model what it is given, so that once is enough.
    Its tools then have no output schema, which would promise the data."""
    words = re.split(r"[^a-z0-9]+", client.lower().replace("visual studio code", "vscode"))
    return any(map(_NAMES.fullmatch, words))


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that are served, by their names. Who goes through it finds those of pages only
    once pages are begun in one of the projects: each `tools/list` looks again."""

    everywhere: tuple[str, ...]
    with_pages: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        are_pages_begun = any(map(has_drafts, self.projects))
        return iter(self.with_pages if are_pages_begun else self.everywhere)

    @property
    def callable(self) -> tuple[str, ...]:
        """All that are ever listed: a call without pages says how they are begun."""
        return self.with_pages or self.everywhere


FILE = Path(__file__).with_name("tool_list.json")
_HANDSHAKE_ONLY = ("ping", "logging/setLevel")
_STATELESS_ONLY = ("server/discover",)


def answer(
    method: str, envelope: protocol.Envelope, tools: Iterable[str]
) -> Mapping[str, Any] | None:
    """Answer a request that needs no project; None for other requests.

    Raises:
        ProtocolError: the revision that is spoken does not have the method.
    """
    if method == "initialize":
        return protocol.describe_server(envelope.revision)
    is_stateless = envelope.revision in protocol.STATELESS_REVISIONS
    if method in (_HANDSHAKE_ONLY if is_stateless else _STATELESS_ONLY):
        raise protocol.ProtocolError(protocol.METHOD_NOT_FOUND, "Method not found", method)
    if method == "server/discover":
        return protocol.discover()
    if method == "ping":
        return {}
    if method == "tools/list":
        return list_tools(tools, envelope.client)
    if method == "prompts/list":
        # Some hosts ask for them without looking, and take a refusal for a fault.
        return {"prompts": []}
    return None


def list_tools(names: Iterable[str], client: str) -> dict[str, Any]:
    """List tools as `tools/list` shows them to a client of that name."""
    rows = {row["name"]: row for row in json.loads(FILE.read_bytes())}
    chosen = [_find_row(name, rows) for name in names]
    if reads_text_only(client):
        chosen = [{k: v for k, v in row.items() if k != "outputSchema"} for row in chosen]
    return {"tools": chosen}


def _find_row(name: str, rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Find a tool's row; that of a name of another system is made from ours."""
    if name in rows:
        return rows[name]
    from ctxmode.mcp.names import BY_NAME, describe  # noqa: PLC0415 - few ask for them

    return describe(BY_NAME[name], rows[BY_NAME[name].tool])
