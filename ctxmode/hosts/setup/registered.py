"""Whether a host has our server among those that it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxmode.errors import ContextModeError
from ctxmode.hosts.setup.host import SCOPES, Host
from ctxmode.hosts.setup.hosts import HOSTS, SERVER_NAME
from ctxmode.hosts.setup.json_syntax import find_value, parse
from ctxmode.hosts.setup.target import Target, read
from policy.strict_data import load_toml

# Set for the hooks of a plug-in, which brings its own server with them.
_PLUGIN_VARIABLES = ("CLAUDE_PLUGIN_ROOT",)


def is_registered(adapter: str, project: str, home: str, environ: Mapping[str, str]) -> bool:
    """Say whether a host whose hooks this adapter answers starts our server: by its settings for a
    person or a project, or by an extension. What cannot be read registers nothing."""
    if any(SERVER_NAME in environ.get(name, "") for name in _PLUGIN_VARIABLES):
        return True
    for host in HOSTS:
        for scope in SCOPES if host.adapter == adapter else ():
            if has_server(host, Target(scope, Path(home), Path(project), (), environ)):
                return True
    return False


def has_server(host: Host, target: Target) -> bool:
    """Say whether a host's settings or its folder of extensions have our server, and have it on."""
    if host.extension and target.path(host.extension).exists():
        return True
    return _is_on(find_server(host, target))


def find_server(host: Host, target: Target) -> Mapping[str, Any]:
    """Find the entry of our server in a host's settings; an empty one where there is none, or they
    cannot be read."""
    place = host.servers.of(target.scope)
    if not place:
        return {}
    try:
        text = (read(target.path(place), target.root) or "").removeprefix("\ufeff")
        document = load_toml(text) if place.endswith(".toml") else parse(text or "{}").value
    except (ContextModeError, ValueError, RecursionError):
        return {}
    found = find_value(document, host.key)
    return found if isinstance(found, Mapping) else {}


def _is_on(entry: Mapping[str, Any]) -> bool:
    is_off = entry.get("enabled") is False or entry.get("disabled") is True
    return bool(entry) and not is_off
