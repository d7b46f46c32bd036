"""Whether a host's hooks tell us of sessions: which of those events are registered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ctxmode.errors import ContextModeError
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.setup.host import SCOPES, Host, Scope
from ctxmode.hosts.setup.hosts import HOSTS
from ctxmode.hosts.setup.target import Target, read

Registered = Literal["all", "some", "none"]


def find_registered(
    agent: str, project: Path, home: Path, environ: Mapping[str, str]
) -> tuple[Registered, str]:
    """Say how many of a host's events for the record of sessions are registered, for the person or
    the project, and the name by which `setup` knows the host; an empty name: it has no hooks."""
    found: Registered = "none"
    name = ""
    for host in HOSTS:
        if AGENTS.get(host.adapter) != agent or not (host.hooks or host.plugins):
            continue
        name = name or host.name
        for scope in SCOPES:
            target = Target(scope, home, project, (), environ)
            here = _count(host, target, scope)
            if here == "all":
                return here, host.name
            found = here if here == "some" else found
    return found, name


def _count(host: Host, target: Target, scope: Scope) -> Registered:
    if host.hooks and (place := host.hooks.places.of(scope)):
        text = _read(target, place)
        wanted = [n for n, purpose in host.events().items() if purpose not in ("judge", "open")]
        there = [name for name in wanted if f" hook {host.adapter} {name}" in text]
        return "none" if not there else "all" if len(there) == len(wanted) else "some"
    for plugin in host.plugins:
        if place := plugin.places.of(scope):
            return "all" if f"context-mode setup {host.name}" in _read(target, place) else "none"
    return "none"


def _read(target: Target, place: str) -> str:
    try:
        return read(target.path(place), target.root) or ""
    except ContextModeError:
        return ""
