"""A host: where it reads servers, hooks and rules from, and in which form."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ctxmode.hosts.adapters import find_adapter
from ctxmode.hosts.hooks.calls import Purpose


class WriteText(Protocol):
    """What makes the text of a file of ours; empty where it then has nothing to do."""

    def __call__(self, command: Sequence[str], *, records_sessions: bool = True) -> str: ...


def hook_program(host: str, event: str, *, is_for_sessions: bool) -> WriteText:
    """What makes the text of a host's program from the command that it is to call."""

    def text(command: Sequence[str], *, records_sessions: bool = True) -> str:
        if is_for_sessions and not records_sessions:
            return ""
        line = shlex.join([*command, "hook", host, event])
        return f"#!/bin/sh\n# Written by `context-mode setup {host}`.\nexec {line}\n"

    return text


Scope = Literal["user", "project"]
Command = Sequence[str]
SCOPES: tuple[Scope, ...] = ("user", "project")


@dataclass(frozen=True, slots=True)
class Places:
    """One kind of file, by scope; empty where the host has none there."""

    user: str = ""
    project: str = ""

    def of(self, scope: Scope) -> str:
        return self.user if scope == "user" else self.project


@dataclass(frozen=True, slots=True)
class Hooks:
    """A file of hooks: entries by event, in a list each. Which events, the host's adapter says."""

    places: Places
    # Makes an event's entry from the line to call and the pattern of tools, empty without any.
    entry: Callable[[str, str], Mapping[str, Any]]
    tools: str = ""  # the pattern for events that are about tools
    base: Mapping[str, Any] | None = None  # what a new file must hold
    left_out: tuple[str, ...] = ()  # not registered, but understood where somebody registered them


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is ours alone: a plug-in, or hooks; some hosts run a program as their hook.

    One that is not needed gives way to a file of somebody else's in its place.
    """

    places: Places
    text: WriteText
    is_plugin: bool = False
    is_program: bool = False
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """The evidence for a row: a host of this version was run with it, or its documents say it."""

    date: str
    version: str = ""

    def __str__(self) -> str:
        return (
            f"run {self.version}, {self.date}" if self.version else f"by its documents, {self.date}"
        )


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
    rules: Places | None = None  # files it always shows its model, if hooks cannot put a text first
    skill: Places | None = None  # where it finds our skill
    # Values that an earlier entry of the server had, which are replaced; others stay.
    outdated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    spoken: str = ""  # the adapter that answers its hooks, where it is not named as the host
    extension: str = ""  # the file that an extension of ours has once it is installed
    source: str = ""  # the documents that it is from
    known: Known = Known("2026-11")  # whether it was tried
    note: str = ""  # what its user has to do besides

    @property
    def adapter(self) -> str:
        return self.spoken or self.name

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes in which it reads servers."""
        return tuple(scope for scope in SCOPES if self.servers.of(scope))

    @property
    def means(self) -> tuple[str, ...]:
        """The parts that it gets besides the server: hooks, a plug-in, a rules file, a skill."""
        are_plugins = {one.is_plugin for one in self.plugins}
        given = {
            "hooks": self.hooks or False in are_plugins,
            "plug-in": True in are_plugins,
            "rules file": self.rules,
            "skill": self.skill,
        }
        return tuple(name for name, it in given.items() if it)

    def events(self) -> Mapping[str, Purpose]:
        """The events that are registered for its hooks, and what each is for."""
        spoken = find_adapter(self.adapter) if self.hooks else None
        if spoken is None or self.hooks is None:
            return {}
        return {n: its for n, its in spoken.EVENTS.items() if n not in self.hooks.left_out}
