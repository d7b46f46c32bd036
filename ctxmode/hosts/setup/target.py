"""Targets of setup (a user or a project), and reading of a host's files there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from base.host_homes import find_place
from base.plain_files import read_plain
from base.strict_data import load_toml
from ctxmode.errors import ContextModeError, why
from ctxmode.hosts.registry import find_agent
from ctxmode.hosts.setup.hosts import HOSTS, SCOPES, SERVER_NAME, Command, Host, Scope
from ctxmode.hosts.setup.json_edits import find_value, parse
from policy import real_path
from policy.project_file import read_project_file

BYTES_MAX = 16 << 20  # a host may store its history next to its servers


@dataclass(frozen=True, slots=True)
class Target:
    """Target of setup: the user, or everybody in a project."""

    scope: Scope
    home: Path
    project: Path
    command: Command
    environ: Mapping[str, str] = field(default_factory=dict[str, str])  # may move the user's files
    records_sessions: bool = True  # hooks report what happens in a session
    is_command_given: bool = False  # the user chose the command

    @property
    def root(self) -> Path:
        """Folder that links must not leave: a project is not trusted, the home folder is."""
        return self.project if self.scope == "project" else Path("/")

    def path(self, place: str) -> Path:
        """Return the path of a host's file; the host's variables may move a user's files."""
        if place.startswith("~/"):
            return Path(find_place(place, str(self.home), self.environ))
        return self.project / place


def read_host_file(path: Path, root: Path = Path("/")) -> str | None:
    """Read a file's text with unchanged line ends; None if the file is missing. Raise
    ContextModeError if it cannot be read, is not a regular file, or is outside of `root`."""
    real = inside(path, root)
    try:
        if root == Path("/"):  # the user's own
            return read_plain(real, BYTES_MAX).decode("utf-8")
        return read_project_file(str(real), str(root), None, BYTES_MAX).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ContextModeError(
            f"cannot read {path}: {why(error)}",
            "Replace it by a text file, or remove it. Nothing was changed.",
        ) from error


def inside(path: Path, root: Path) -> Path:
    """Resolve the links of a path. Raise ContextModeError if the result is outside of `root`."""
    real = Path(real_path(str(path)))
    if not real.is_relative_to(root.resolve()):
        raise ContextModeError(
            f"{path} points outside the project, to {real}",
            "Replace the link by a file or folder of the project. Nothing was changed.",
        )
    return real


# Set for hooks of a plug-in, which has its own server.
_PLUGIN_VARIABLES = ("CLAUDE_PLUGIN_ROOT",)


def is_registered(adapter: str, project: str, home: str, environ: Mapping[str, str]) -> bool:
    """Return whether a host with this adapter starts our server, by settings of the user or the
    project, or by an extension. Unreadable files count as empty."""
    if any(SERVER_NAME in environ.get(name, "") for name in _PLUGIN_VARIABLES):
        return True
    for host in HOSTS:
        for scope in SCOPES if host.adapter == adapter else ():
            if has_server(host, Target(scope, Path(home), Path(project), (), environ)):
                return True
    return False


def has_server(host: Host, target: Target) -> bool:
    """Return whether our server is enabled in a host's settings or installed as an extension."""
    if host.extension and target.path(host.extension).exists():
        return True
    return _is_on(find_server(host, target))


def find_server(host: Host, target: Target) -> Mapping[str, Any]:
    """Find our server's entry in a host's settings; empty if it is missing or unreadable."""
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
    """Return how many of a host's events for the record of sessions are registered, for the user or
    the project, and the host's name in `setup`; the name is empty if it has no hooks."""
    found: Registered = "none"
    name = ""
    for host in HOSTS:
        if find_agent(host.adapter) != agent or not (host.hooks or host.plugins):
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
