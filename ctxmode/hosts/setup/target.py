"""For whom a host is set up, and the reading of its files there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from base.host_homes import find_place
from base.plain_files import read_plain
from base.strict_data import load_toml
from ctxmode.errors import ContextModeError, why
from ctxmode.hosts.agents import AGENTS
from ctxmode.hosts.setup.hosts import HOSTS, SCOPES, SERVER_NAME, Command, Host, Scope
from ctxmode.hosts.setup.json_edits import find_value, parse
from policy import real_path
from policy.project_file import read_project_file

BYTES_MAX = 16 << 20  # a host may keep its history beside its servers


@dataclass(frozen=True, slots=True)
class Target:
    """The one for whom a host is set up: a person, or everybody in a project."""

    scope: Scope
    home: Path
    project: Path
    command: Command
    environ: Mapping[str, str] = field(default_factory=dict[str, str])  # may move a person's files
    records_sessions: bool = True  # hooks tell us what happens in a session
    is_command_given: bool = False  # a person named the command

    @property
    def root(self) -> Path:
        """The folder out of which no link is followed: a project is another's, a home is not."""
        return self.project if self.scope == "project" else Path("/")

    def path(self, place: str) -> Path:
        """Return the path of a host's file: a user's own lies where the host's variables say."""
        if place.startswith("~/"):
            return Path(find_place(place, str(self.home), self.environ))
        return self.project / place


def read_host_file(path: Path, root: Path = Path("/")) -> str | None:
    """A file's text as it is, line ends and all; None if there is none.

    Raises:
        ContextModeError: it cannot be read, is no regular file, or lies outside of `root`.
    """
    real = inside(path, root)
    try:
        if root == Path("/"):  # the user's own
            return read_plain(real, BYTES_MAX).decode("utf-8")
        return read_project_file(str(real), str(root), None, BYTES_MAX).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ContextModeError(
            f"{path} cannot be read: {why(error)}",
            "Make it a file of text, or remove it. Nothing was changed.",
        ) from error


def inside(path: Path, root: Path) -> Path:
    """Where a path really is.

    Raises:
        ContextModeError: that is outside of `root`.
    """
    real = Path(real_path(str(path)))
    if not real.is_relative_to(root.resolve()):
        raise ContextModeError(
            f"{path} leads out of the project, to {real}",
            "Put a file or a folder of the project in the link's place. Nothing was changed.",
        )
    return real


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
    place = host.servers.get(target.scope, "")
    if not place:
        return {}
    try:
        text = (read_host_file(target.path(place), target.root) or "").removeprefix("\ufeff")
        document = load_toml(text) if place.endswith(".toml") else parse(text or "{}").value
    except (ContextModeError, ValueError, RecursionError):
        return {}
    found = find_value(document, host.key)
    return found if isinstance(found, Mapping) else {}


def _is_on(entry: Mapping[str, Any]) -> bool:
    is_off = entry.get("enabled") is False or entry.get("disabled") is True
    return bool(entry) and not is_off


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
    if host.hooks and (place := host.hooks.places.get(scope, "")):
        text = _read(target, place)
        wanted = [n for n, purpose in host.events().items() if purpose not in ("judge", "open")]
        there = [name for name in wanted if f" hook {host.adapter} {name}" in text]
        return "none" if not there else "all" if len(there) == len(wanted) else "some"
    for plugin in host.plugins:
        if place := plugin.places.get(scope, ""):
            return "all" if f"context-mode setup {host.name}" in _read(target, place) else "none"
    return "none"


def _read(target: Target, place: str) -> str:
    try:
        return read_host_file(target.path(place), target.root) or ""
    except ContextModeError:
        return ""
