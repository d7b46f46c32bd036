"""Table of hosts from the `row.toml` of their folders, and functions that write their entries and
files.

In a row, paths of the user's files begin with `~/`; others are relative to the project. `entry` is
our server's entry, and `entry` in `hooks` that of an event, with COMMAND, ARGUMENTS, WORDS (both as
one list), LINE and TOOLS in places of values; a key without a value is left out. `tools` is a
pattern of the tools for which the host calls our hooks; `tools_of` and `hooks_of` name another host
with the same. A plug-in's `texts` are files in hosts' folders. The classes describe the other
fields.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ctxmode.hosts.hooks.hook_types import Purpose
from ctxmode.hosts.instructions import SKILL_NAME
from ctxmode.hosts.registry import FOLDER, find_adapter, list_folders


class WriteText(Protocol):
    """Function that writes one of our files; the text is empty if the file is not needed."""

    def __call__(self, command: Sequence[str], *, records_sessions: bool = True) -> str: ...


def hook_program(host: str, event: str, *, is_for_sessions: bool) -> WriteText:
    """Make the function that writes a host's program, which calls a command."""

    def text(command: Sequence[str], *, records_sessions: bool = True) -> str:
        if is_for_sessions and not records_sessions:
            return ""
        line = shlex.join([*command, "hook", host, event])
        return f"#!/bin/sh\n# Written by `context-mode setup {host}`.\nexec {line}\n"

    return text


Scope = Literal["user", "project"]
Command = Sequence[str]
SCOPES: tuple[Scope, ...] = ("user", "project")
Places = Mapping[Scope, str]
"""Paths of one kind of file, by scope."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """A file of hooks: a list of entries per event. The host's adapter names the events."""

    places: Places
    # Makes an event's entry from the command line and the pattern of tools (may be empty).
    entry: Callable[[str, str], Mapping[str, Any]]
    tools: str = ""  # pattern for events about tools
    base: Mapping[str, Any] | None = None  # required content of a new file
    left_out: tuple[str, ...] = ()  # events that are answered, but not registered


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is only ours: a plug-in, hooks, or a program that a host runs as its hook.

    One that is not needed yields to another file in its place.
    """

    places: Places
    text: WriteText
    is_plugin: bool = False
    is_program: bool = False
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Host:
    """One row of the table of hosts."""

    name: str
    title: str
    servers: Places
    key: tuple[str, ...]
    entry: Callable[[Command], Mapping[str, Any]]  # makes the server's entry from its command
    hooks: Hooks | None = None
    plugins: tuple[WholeFile, ...] = ()
    # Files that it always shows to its model, if hooks cannot add a text first.
    rules: Places = field(default_factory=dict)
    skill: Places = field(default_factory=dict)  # paths of our skill
    # Values of earlier entries of the server, which are replaced; other values are kept.
    outdated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    spoken: str = ""  # the adapter that answers its hooks, if not named as the host
    extension: str = ""  # a file that exists if our extension is installed
    # Paths of the manifest and of the file of servers in an exported extension, and `more` fields.
    export: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: str = ""  # documents about the host
    # Date of the last check, and the version that was run; without one, documents were read.
    known: Mapping[str, str] = field(default_factory=lambda: {"date": "2026-11"})
    note: str = ""  # additional steps for the user

    @property
    def adapter(self) -> str:
        return self.spoken or self.name

    @property
    def evidence(self) -> str:
        """Evidence for the row, and its date."""
        run = f"run {self.known['version']}" if "version" in self.known else "by its documents"
        return f"{run}, {self.known['date']}"

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Scopes in which the host reads servers."""
        return tuple(scope for scope in SCOPES if scope in self.servers)

    @property
    def means(self) -> tuple[str, ...]:
        """Parts other than the server: hooks, a plug-in, a rules file, a skill."""
        are_plugins = {one.is_plugin for one in self.plugins}
        given = {
            "hooks": self.hooks or False in are_plugins,
            "plug-in": True in are_plugins,
            "rules file": self.rules,
            "skill": self.skill,
        }
        return tuple(name for name, it in given.items() if it)

    def events(self) -> Mapping[str, Purpose]:
        """Return the registered events of its hooks, with their purposes."""
        spoken = find_adapter(self.adapter) if self.hooks else None
        if spoken is None or self.hooks is None:
            return {}
        return {n: its for n, its in spoken.EVENTS.items() if n not in self.hooks.left_out}


_COMMAND = '["context-mode"]'
_LINE = "context-mode hook"
_SESSIONS = "const RECORDS_SESSIONS = true;"


def plugin_text(host: str, names: Sequence[str]) -> WriteText:
    """Make the function that writes a plug-in from files in hosts' folders, one after another."""

    def text(command: Sequence[str], *, records_sessions: bool = True) -> str:
        whole = "\n".join((Path(FOLDER) / name).read_text(encoding="utf-8") for name in names)
        whole = whole.replace("`context-mode setup opencode`", f"`context-mode setup {host}`")
        whole = whole.replace(_COMMAND, json.dumps(list(command)))
        if records_sessions:
            return whole
        return whole.replace(_SESSIONS, _SESSIONS.replace("true", "false"))

    return text


def hooks_text(host: str, name: str) -> WriteText:
    """Make the function that writes a file of hooks; those of turns are left out if unwanted."""

    def text(command: Sequence[str], *, records_sessions: bool = True) -> str:
        data = json.loads((Path(FOLDER) / name).read_text(encoding="utf-8"))
        adapter = find_adapter(host)
        events = adapter.EVENTS if adapter else {}
        kept = [
            hook for hook in data["hooks"] if records_sessions or events[hook["trigger"]] == "judge"
        ]
        for hook in kept:
            line = hook["action"]["command"].removeprefix(_LINE)
            hook["action"]["command"] = f"{shlex.join([*command, 'hook'])}{line}"
        return json.dumps(data | {"hooks": kept}, indent=2) + "\n"

    return text


SERVER_NAME = "context-mode"
SKILL = f"skills/{SKILL_NAME}/SKILL.md"


def fill_entry(entry: object, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - of TOML
    """Put values in their places in an entry. A key with an empty text is left out."""
    if isinstance(entry, dict):
        made = {name: fill_entry(value, values) for name, value in entry.items()}
        return {name: value for name, value in made.items() if value != ""}
    if isinstance(entry, list):
        return [fill_entry(one, values) for one in entry]
    return values.get(entry, entry) if isinstance(entry, str) else entry


def _server_entry(entry: Mapping[str, Any]) -> Callable[[Command], Mapping[str, Any]]:
    def fill(command: Command) -> Mapping[str, Any]:
        words = {"COMMAND": command[0], "ARGUMENTS": list(command[1:]), "WORDS": list(command)}
        return {**fill_entry(entry, words)}

    return fill


def _hook_entry(entry: Mapping[str, Any]) -> Callable[[str, str], Mapping[str, Any]]:
    return lambda line, tools: {**fill_entry(entry, {"LINE": line, "TOOLS": tools})}


WORDS = {"command": "COMMAND", "args": "ARGUMENTS"}


def _read_hosts() -> tuple[Host, ...]:
    rows = {
        name.replace("_", "-"): tomllib.loads((Path(FOLDER) / name / "row.toml").read_text("utf-8"))
        for name in list_folders("row.toml")
    }
    hooks = {name: _make_hooks(row["hooks"], rows) for name, row in rows.items() if "hooks" in row}
    return tuple(_make_host(name, row, hooks) for name, row in rows.items())


def _make_host(name: str, row: Mapping[str, Any], hooks: Mapping[str, Hooks]) -> Host:
    given: dict[str, Any] = {
        "key": tuple(row.get("key", ("mcpServers", SERVER_NAME))),
        "entry": _server_entry(row.get("entry", WORDS)),
        "plugins": tuple(_make_file(name, one) for one in row.get("plugins", ())),
        "hooks": hooks.get(row.get("hooks_of", name)),
    }
    if skills := row.get("skills"):
        given["skill"] = {scope: f"{place}/{SKILL}" for scope, place in skills.items()}
    same = (
        *("title", "servers", "rules", "known", "outdated", "spoken", "extension", "export"),
        *("source", "note"),
    )
    return Host(name, **given, **{part: row[part] for part in same if part in row})


def _make_hooks(row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> Hooks:
    tools_of = rows[row["tools_of"]]["hooks"] if "tools_of" in row else row
    return Hooks(
        row["places"],
        _hook_entry(row["entry"]),
        tools_of.get("tools", ""),
        row.get("base"),
        tuple(row.get("left_out", ())),
    )


def _make_file(host: str, row: Mapping[str, Any]) -> WholeFile:
    """Make a file that is only ours; with an `event` it is the program for that hook. Files that
    are not needed only serve the capture of turns."""
    event, is_needed = row.get("event", ""), row.get("is_needed", True)
    is_plugin = row.get("is_plugin", False)
    if event:
        text = hook_program(host, event, is_for_sessions=not is_needed)
    elif is_plugin:
        text = plugin_text(host, row["texts"])
    else:
        (name,) = row["texts"]
        text = hooks_text(host, name)
    return WholeFile(row["places"], text, is_plugin, bool(event), is_needed)


HOSTS = _read_hosts()
BY_NAME = {host.name: host for host in HOSTS}
