"""Plug-ins and extensions in the form of a host's marketplace: a folder with a manifest, the
server, hooks and the skill.

Sources: code.claude.com/docs/en/plugins-reference; geminicli.com/docs/extensions/reference; the
package @qwen-code/qwen-code 0.24.4, docs/extension.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxmode import __version__
from ctxmode.errors import UsageError
from ctxmode.hosts import skill
from ctxmode.hosts.setup.host import Command, Host
from ctxmode.hosts.setup.hosts import BY_NAME, SERVER_NAME, SKILL
from ctxmode.hosts.setup.plan import FileChange, hook_entries
from ctxmode.hosts.setup.target import read

DESCRIPTION = "Runs model-written code where the data lives, sandboxed; hands back only the answer."
README = f"""\
# context-mode

{DESCRIPTION}

For {{title}}: its server, hooks that hold your rules for {{title}}'s own tools, and a skill that
says when to answer a question by a short program. It needs Linux, and the program `context-mode`
where {{title}} finds it; `{{line}} doctor` tells what works on your machine, and how to get what
does not.
"""
HOOKS = "hooks/hooks.json"


@dataclass(frozen=True, slots=True)
class Form:
    """One row: where the manifest lies, what it says besides, and where the servers are if not in
    it."""

    manifest: str
    about: Mapping[str, Any]
    servers: str = ""


FORMS: Mapping[str, Form] = {
    "claude-code": Form(
        ".claude-plugin/plugin.json",
        {"author": {"name": SERVER_NAME}, "license": "Apache-2.0"},
        servers=".mcp.json",
    ),
    "gemini-cli": Form("gemini-extension.json", {}),
    "qwen-code": Form("qwen-extension.json", {}),
}


def plan_export(name: str, folder: Path, command: Command) -> tuple[FileChange, ...]:
    """The files of an export that are new or differ.

    Raises:
        UsageError: the host has no such form, or the folder holds something else.
        ContextModeError: a file there cannot be read.
    """
    form = FORMS.get(name)
    if form is None:
        raise UsageError(f"{name} has no form to export", f"Choose from: {', '.join(FORMS)}.")
    texts = dict(_files(BY_NAME[name], form, command))
    _check_folder(folder, form, texts)
    changes = (
        FileChange(folder / place, read(folder / place, folder), text, folder)
        for place, text in texts.items()
    )
    return tuple(change for change in changes if change.before != change.after)


def _files(host: Host, form: Form, command: Command) -> Iterator[tuple[str, str]]:
    about = {"name": SERVER_NAME, "version": __version__, "description": DESCRIPTION}
    about |= form.about
    servers = {"mcpServers": {SERVER_NAME: host.entry([*command, "serve"])}}
    if form.servers:
        yield form.manifest, _write(about)
        yield form.servers, _write(servers)
    else:
        yield form.manifest, _write(about | servers)
    yield HOOKS, _write({"hooks": {event: [it] for event, it in hook_entries(host, command)}})
    yield SKILL, skill.skill_text()
    yield "README.md", README.format(title=host.title, line=" ".join(command))


def _write(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def _check_folder(folder: Path, form: Form, texts: Mapping[str, str]) -> None:
    """An export goes into a new or empty folder, or over one that was made before."""
    if folder.is_file():
        raise UsageError(f"{folder} is a file", "Name a new folder, or an empty one.")
    here = {
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, names in os.walk(folder)
        for name in names
    }
    if here and (not here <= set(texts) or form.manifest not in here):
        other = min(here - set(texts), default=min(here))
        raise UsageError(
            f"{folder} holds what no export put there: {other}",
            "Name a new folder, an empty one, or that of an earlier export.",
        )
