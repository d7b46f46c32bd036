"""Changes of setting up a host: the texts of all files before and after, known before any file is
written."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.plain_files import replace_file
from base.strict_data import load_toml
from ctxmode import __version__
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.hosts.instructions import SKILL_NAME, read_routing, read_skill
from ctxmode.hosts.setup import hook_edits, json_edits, toml_edits
from ctxmode.hosts.setup.hook_edits import Owner, is_foreign, is_program, split_server
from ctxmode.hosts.setup.hosts import (
    BY_NAME,
    HOSTS,
    SERVER_NAME,
    SKILL,
    Command,
    Hooks,
    Host,
    Scope,
    WholeFile,
)
from ctxmode.hosts.setup.json_edits import find_value, parse
from ctxmode.hosts.setup.target import Target, find_server, has_server, inside, read_host_file

Edit = Callable[[str | None], str | None]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file."""

    path: Path
    before: str | None  # None: the file is new
    after: str | None  # None: the file is removed
    root: Path = Path("/")  # folder that links must not leave
    is_program: bool = False  # make it executable


def plan(host: Host, target: Target, *, remove: bool = False) -> tuple[FileChange, ...]:
    """List the changes of files; none if everything is up to date.

    Raises:
        UsageError: the host has no file of servers in this scope.
        ContextModeError: a file cannot be read, or cannot be edited safely.
    """
    if not host.servers.get(target.scope, ""):
        other = "user" if target.scope == "project" else "project"
        raise UsageError(
            f"{host.title} does not read servers from a {target.scope}'s files", f"Use --{other}."
        )
    texts: dict[Path, tuple[str | None, str | None]] = {}
    for place, edit in _edits(host, target, remove=remove):
        path = target.path(place)
        before, current = texts.get(path) or (read_host_file(path, target.root),) * 2
        texts[path] = before, _edit(path, current, edit)
    programs = {target.path(place) for place in _programs(host, target.scope)}
    return tuple(
        FileChange(path, before, after, target.root, path in programs)
        for path, (before, after) in texts.items()
        if before != after
    )


def _programs(host: Host, scope: Scope) -> Iterator[str]:
    for plugin in host.plugins:
        if plugin.is_program and (place := plugin.places.get(scope, "")):
            yield place


def _edits(host: Host, target: Target, *, remove: bool) -> Iterator[tuple[str, Edit]]:
    scope, owner = target.scope, _find_owner(host, target)
    yield host.servers.get(scope, ""), _server(host, owner, remove=remove)
    if (
        host.hooks
        and (place := host.hooks.places.get(scope, ""))
        and not (remove and _is_shared(host, target))
    ):
        left_out = set(host.events()) if remove else _list_unwanted(host, target)
        yield place, _hooks(host, host.hooks, owner, left_out)
    for plugin in host.plugins:
        if place := plugin.places.get(scope, ""):
            text = plugin.text(target.command, records_sessions=target.records_sessions)
            yield place, _whole(host, plugin, text, owner, remove=remove or not text)
    if place := host.skill.get(scope, ""):
        yield place, _skill(remove=remove)
    if place := host.rules.get(scope, ""):
        yield place, _rules(remove=remove)


def _is_shared(host: Host, target: Target) -> bool:
    """Return whether another host that is set up reads the same hooks."""
    others = (other for other in HOSTS if other.hooks is host.hooks and other is not host)
    return any(has_server(other, target) for other in others)


def _find_owner(host: Host, target: Target) -> Owner:
    """Find the commands that identify our entries: the one to write, and the present one."""
    split = split_server(find_server(host, target))
    recorded = split[0] if split else ()
    return Owner(target.command, is_given=target.is_command_given, recorded=recorded)


def _server(host: Host, owner: Owner, *, remove: bool) -> Edit:
    def in_toml(text: str) -> str:
        if remove:
            return toml_edits.drop_table(text, host.key)
        found = find_value(load_toml(text), host.key)
        return toml_edits.put_table(text, host.key, _list_updates(host, owner, found))

    def in_json(text: str) -> str:
        if remove:
            return json_edits.drop(text, host.key)
        found = find_value(parse(text).value, host.key)
        updates = _list_updates(host, owner, found)
        if not isinstance(found, Mapping):
            return json_edits.put(text, host.key, updates)
        for name, value in updates.items():
            text = json_edits.put(text, (*host.key, name), value)
        return text

    if host.servers["user"].endswith(".toml"):
        return hook_edits.take_out("", in_toml) if remove else hook_edits.put_into(None, in_toml)
    base = json_edits.write_base({})
    return hook_edits.take_out(base, in_json) if remove else hook_edits.put_into(base, in_json)


def _list_updates(host: Host, owner: Owner, found: object) -> Mapping[str, Any]:
    """List the values to set in our server's entry. The user's additions and choices are kept, and
    so is an entry that starts the user's wrapper."""
    entry = host.entry([*owner.command, "serve"])
    if not isinstance(found, Mapping) or not found:
        return entry
    if is_foreign(found):
        return {}
    program, arguments = split_server(found) or ([], [])
    is_replaced = owner.is_given or not program or is_program(program)
    command = host.entry([*(owner.command if is_replaced else program), "serve", *arguments])
    return {
        name: value
        for name, value in command.items()
        if name in ("command", "args")
        or name not in found
        or found[name] == host.outdated.get(name)
    }


def _skill(*, remove: bool) -> Edit:
    """Make the edit for our skill. Another file in its place is kept, since the skill is
    optional."""
    put = hook_edits.put_into("", lambda _: read_skill())

    def edit(text: str | None) -> str | None:
        if text and text.strip() and f"name: {SKILL_NAME}\n" not in text:
            return text
        if not text or not text.strip():
            return text if remove else put(text)
        blank = text[len(text.rstrip()) :]
        take = hook_edits.take_out("", lambda _: blank.removeprefix("\n"))
        return take(text) if remove else read_skill().rstrip() + blank

    return edit


def _whole(host: Host, plugin: WholeFile, ours: str, owner: Owner, *, remove: bool) -> Edit:
    """Make the edit for a file that is only ours, identified by its marks. Another or a changed
    file is kept; this is an error unless it calls this program or ours is not needed."""

    def edit(text: str) -> str:
        if text.strip() and not _is_ours(host, plugin, text, owner):
            if remove or not plugin.is_needed or f" hook {host.adapter} " in text:
                return text
            raise ValueError("it is not from context-mode; call `context-mode hook` from it")
        blank = text[len(text.rstrip()) :]
        return blank.removeprefix("\n") if remove else ours.rstrip() + blank

    return hook_edits.take_out("", edit) if remove else hook_edits.put_into("", edit)


def _is_ours(host: Host, plugin: WholeFile, text: str, owner: Owner) -> bool:
    """Return whether a file is unchanged: the user may have wrapped the call, or added hooks."""
    mark = f"context-mode setup {host.name}`"
    if plugin.is_program:
        found = re.fullmatch(r"#!/bin/sh\n# Written by [^\n]*\nexec ([^\n]+)\s*", text)
        event = found[1].split()[-1] if found else ""
        return found is not None and owner.owns_hook(found[1], host.adapter, event)
    return mark in text and (plugin.is_plugin or text.count('"trigger"') == text.count(mark))


def _rules(*, remove: bool) -> Edit:
    if remove:
        return hook_edits.take_out("", hook_edits.drop)
    return hook_edits.put_into(None, lambda text: hook_edits.put(text, read_routing()))


def hook_entries(host: Host, command: Command) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entry of each event of a host's hooks."""
    hooks = host.hooks
    for event, purpose in host.events().items():
        line = shlex.join([*command, "hook", host.adapter, event])
        if hooks:
            yield event, hooks.entry(line, hooks.tools if purpose == "judge" else "")


def _list_unwanted(host: Host, target: Target) -> set[str]:
    """Return the events that only record sessions, if sessions are not recorded."""
    kept = ("judge", "open")
    unwanted = {event for event, purpose in host.events().items() if purpose not in kept}
    return set() if target.records_sessions else unwanted


def _hooks(host: Host, hooks: Hooks, owner: Owner, left_out: Container[str]) -> Edit:
    """Make the edit that adds our entry to each event's list; events in `left_out` lose it."""
    is_removed = all(event in left_out for event in host.events())

    def edit(text: str) -> str:
        for event, entry in hook_entries(host, owner.command):
            if event in left_out:
                text = hook_edits.drop_hooks(text, host.adapter, event, owner)
            else:
                text = hook_edits.put_hook(text, host.adapter, event, entry, owner)
        return text

    base = json_edits.write_base(hooks.base or {})
    return hook_edits.take_out(base, edit) if is_removed else hook_edits.put_into(base, edit)


def _edit(path: Path, text: str | None, edit: Edit) -> str | None:
    mark = "\ufeff" if text and text.startswith("\ufeff") else ""
    try:
        made = edit(text if text is None else text.removeprefix(mark))
        return mark + (made or "") if mark else made
    except (ValueError, RecursionError) as error:
        raise ContextModeError(
            f"cannot edit {path}: {error}", "Fix the file, then try again. Nothing was changed."
        ) from error


def write(changes: Sequence[FileChange]) -> None:
    """Write all changes to the disk, or none; links are followed. Raise ContextModeError if a file
    cannot be written, or was changed since the plan."""
    done: list[tuple[FileChange, int]] = []
    try:
        for change in changes:
            path = inside(change.path, change.root)
            if read_host_file(change.path, change.root) != change.before:
                raise ContextModeError(f"{path} has just changed", "Run the command again.")
            mode = path.stat().st_mode & 0o777 if change.before is not None else 0o644
            _write(change.path, change.after, change.root, mode | 0o111 * change.is_program)
            done.append((change, mode))
    except BaseException:
        for change, mode in reversed(done):
            with contextlib.suppress(ContextModeError):
                _write(change.path, change.before, change.root, mode)
        raise


def _write(path: Path, text: str | None, root: Path, mode: int) -> None:
    real = inside(path, root)
    try:
        if text is None:
            real.unlink(missing_ok=True)
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_file(real, text.encode("utf-8"), mode=mode)
    except OSError as error:
        raise ContextModeError(
            f"cannot write {path}: {why(error)}",
            "Check its owner and mode. Nothing was changed.",
        ) from error


# Sources: code.claude.com/docs/en/plugins-reference; geminicli.com/docs/extensions/reference; the
# package @qwen-code/qwen-code 0.24.4, docs/extension.

DESCRIPTION = "Runs code of AI agents in a sandbox next to your data; returns only the answer."
README = f"""\
# context-mode

{DESCRIPTION}

For {{title}}: the server, hooks that apply your rules to {{title}}'s own tools, and a skill that
says when to answer a question with a short program. It needs Linux, and the program `context-mode`
on the PATH of {{title}}. `{{line}} doctor` shows what works on your machine, and how to fix what
does not.
"""
HOOKS = "hooks/hooks.json"


FORMS = tuple(host.name for host in HOSTS if host.export)
"""The hosts that read an extension."""


def plan_export(name: str, folder: Path, command: Command) -> tuple[FileChange, ...]:
    """List the files of an export that are new or differ.

    Raises:
        UsageError: the host has no export format, or the folder contains other files.
        ContextModeError: a file there cannot be read.
    """
    if name not in FORMS:
        raise UsageError(f"no export format for {name}", f"Choose from: {', '.join(FORMS)}.")
    texts = dict(_files(BY_NAME[name], command))
    _check_folder(folder, BY_NAME[name].export["manifest"], texts)
    changes = (
        FileChange(folder / place, read_host_file(folder / place, folder), text, folder)
        for place, text in texts.items()
    )
    return tuple(change for change in changes if change.before != change.after)


def _files(host: Host, command: Command) -> Iterator[tuple[str, str]]:
    manifest, beside = host.export["manifest"], host.export["servers"]
    about: dict[str, Any] = {
        "name": SERVER_NAME,
        "version": __version__,
        "description": DESCRIPTION,
    }
    servers = {"mcpServers": {SERVER_NAME: host.entry([*command, "serve"])}}
    files = {manifest: about | host.export.get("more", {})}
    files[beside] = files.get(beside, {}) | servers
    for place, value in files.items():
        yield place, _to_text(value)
    yield HOOKS, _to_text({"hooks": {event: [it] for event, it in hook_entries(host, command)}})
    yield SKILL, read_skill()
    yield "README.md", README.format(title=host.title, line=" ".join(command))


def _to_text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def _check_folder(folder: Path, manifest: str, texts: Mapping[str, str]) -> None:
    """Refuse a folder that is neither new, nor empty, nor from an earlier export."""
    if folder.is_file():
        raise UsageError(f"{folder} is a file", "Name a new or empty folder.")
    here = {
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, names in os.walk(folder)
        for name in names
    }
    if here and (not here <= set(texts) or manifest not in here):
        other = min(here - set(texts), default=min(here))
        raise UsageError(
            f"{folder} contains a file that is not from an export: {other}",
            "Name a new or empty folder, or that of an earlier export.",
        )
