"""What setting up a host changes: every file's text before and after, all known before any is
written.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.plain_files import read_plain
from base.whole_files import replace_file
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.hosts.routing import ROUTING
from ctxmode.hosts.setup import json_edits, marked_text, toml_edits
from ctxmode.hosts.setup.hosts import Command, Hooks, Host, Scope
from ctxmode.hosts.setup.opencode import plugin_text
from policy import real_path

Edit = Callable[[str], str]
BYTES_MAX = 16 << 20  # a host may keep its history beside its servers


@dataclass(frozen=True, slots=True)
class Target:
    """For whom a host is set up: a person, or everybody in a project."""

    scope: Scope
    home: Path
    project: Path
    command: Command
    config_home: Path | None = None

    @property
    def root(self) -> Path:
        """The folder out of which no link is followed: a project is another's, a home is not."""
        return self.project if self.scope == "project" else Path("/")

    def path(self, place: str) -> Path:
        """Where a host's file is; `config_home` stands for `~/.config` (XDG_CONFIG_HOME)."""
        if self.config_home is not None and place.startswith("~/.config/"):
            return self.config_home / place.removeprefix("~/.config/")
        return self.home / place[2:] if place.startswith("~/") else self.project / place


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file. `before` of None: there is none yet; `after` of None: it is taken away. No link is
    followed out of `root`."""

    path: Path
    before: str | None
    after: str | None
    root: Path = Path("/")


def plan(host: Host, target: Target, *, remove: bool = False) -> tuple[FileChange, ...]:
    """The files that change; none if everything is as it should be.

    Raises:
        UsageError: the host has no file of servers in this scope.
        ContextModeError: a file cannot be read, or not be edited without harm.
    """
    if not host.servers.of(target.scope):
        other = "user" if target.scope == "project" else "project"
        raise UsageError(
            f"{host.title} reads no servers from a {target.scope}'s files", f"Use --{other}."
        )
    texts: dict[Path, tuple[str | None, str | None]] = {}
    for place, edit in _edits(host, target, remove=remove):
        path = target.path(place)
        before, current = texts.get(path) or (read(path, target.root),) * 2
        texts[path] = before, _edit(path, current or "", edit)
    return tuple(
        FileChange(path, before, after if after or before is None else None, target.root)
        for path, (before, after) in texts.items()
        if (before or "") != (after or "")
    )


def _edits(host: Host, target: Target, *, remove: bool) -> Iterator[tuple[str, Edit]]:
    scope, command = target.scope, target.command
    yield host.servers.of(scope), _server(host, [*command, "serve"], remove=remove)
    if host.hooks and (place := host.hooks.places.of(scope)):
        yield place, _hooks(host, host.hooks, command, remove=remove)
    if host.plugin and (place := host.plugin.of(scope)):
        yield place, lambda _: "" if remove else plugin_text(command)
    if host.rules and (place := host.rules.of(scope)):
        yield place, marked_text.drop if remove else lambda text: marked_text.put(text, ROUTING)


def _server(host: Host, command: Command, *, remove: bool) -> Edit:
    entry = host.entry(command)

    def in_toml(text: str) -> str:
        if remove:
            return toml_edits.drop_table(text, host.key)
        return toml_edits.put_table(text, host.key, entry)

    def in_json(text: str) -> str:
        if remove:
            return _nothing_left(json_edits.drop(text, host.key))
        return json_edits.put(text, host.key, entry)

    return in_toml if host.servers.user.endswith(".toml") else in_json


def _hooks(host: Host, hooks: Hooks, command: Command, *, remove: bool) -> Edit:
    def edit(text: str) -> str:
        if not text.strip() and not remove and hooks.base:
            text = json.dumps(hooks.base, indent=2) + "\n"
        for event, make in hooks.entries.items():
            words = f"hook {host.name} {event}"

            def is_ours(item: Any, words: str = words) -> bool:  # noqa: ANN401 - JSON
                return f' {words}"' in json.dumps(item)

            path = ("hooks", event)
            if remove:
                text = json_edits.drop_items(text, path, is_ours)
            else:
                line = shlex.join([*command, *words.split()])
                text = json_edits.put_item(text, path, make(line), is_ours)
        return _nothing_left(text, hooks.base) if remove else text

    return edit


def _nothing_left(text: str, base: object = None) -> str:
    """Empty, if a file holds nothing that anybody but us would have put there."""
    written = "".join(text.split())
    return "" if written in ("", "{}", "".join(json.dumps(base).split())) else text


def read(path: Path, root: Path = Path("/")) -> str | None:
    """A file's text as it is, line ends and all; None if there is none.

    Raises:
        ContextModeError: it cannot be read, is no regular file, or lies outside of `root`.
    """
    real = _inside(path, root)
    try:
        return read_plain(real, BYTES_MAX, root.resolve()).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ContextModeError(
            f"{path} cannot be read: {why(error)}",
            "Make it a file of text, or remove it. Nothing was changed.",
        ) from error


def _inside(path: Path, root: Path) -> Path:
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


def _edit(path: Path, text: str, edit: Edit) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    try:
        return mark + edit(text.removeprefix(mark))
    except (ValueError, RecursionError) as error:
        raise ContextModeError(
            f"{path} cannot be edited: {error}", "Mend it, then try again. Nothing was changed."
        ) from error


def write(change: FileChange) -> None:
    """Put a change on the disk, at once or not at all; a link's target is what changes.

    Raises:
        ContextModeError: it cannot be written.
    """
    path = _inside(change.path, change.root)
    try:
        if change.after is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        replace_file(path, change.after.encode("utf-8"), mode=mode)
    except OSError as error:
        raise ContextModeError(
            f"{path} cannot be written: {error.strerror}", "Check its owner and mode."
        ) from error
