"""Opening of a project's session store, with the functions that it needs: find secrets, parse tool
calls, match folders of the project. Hooks load this module, so it contains nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ctxmode.config.file_names import find_project
from ctxmode.hosts.hooks.tool_names import tool_call
from memory.sessions import Deed, SessionStore

if TYPE_CHECKING:
    from pathlib import Path

    from base.plain_files import StrPath
    from ctxmode.config.locations import Config

_PREFIXES = {"shell": ""}  # a shell command needs no language prefix
USER_STORE = "user.sessions.sqlite3"
"""Next to the projects' stores: sessions without a project, such as ChatGPT's."""


def find_users_store(config: Config) -> Path:
    """Return the path of the user's own session store."""
    return config.sessions_file.parent / USER_STORE


def open_session_store(
    path: StrPath,
    project: str,
    home: str,
    *,
    keep_messages: bool = False,
    create: bool = True,
    read_only: bool = False,
    wait_s: float = 30.0,
    is_verified: bool = False,
) -> SessionStore:
    """Open the session store of a project, given by its real path; an empty project accepts all
    sessions. With `read_only` it is neither created nor migrated; with `is_verified` it is checked
    for damage. Raise MemoryRoomError if it cannot be opened, or is missing and `create` is false.
    """
    from base.secrets import find_secrets  # noqa: PLC0415 - not if nothing is new

    return SessionStore(
        path,
        find_secrets=find_secrets,
        parse_call=parse_call,
        belongs=belongs_to(project, home) if project else None,
        keep_messages=keep_messages,
        home=home,
        owner=str(os.getuid()),
        create=create,
        read_only=read_only,
        wait_s=wait_s,
        is_verified=is_verified,
    )


def parse_call(name: str, params: Any, cwd: str) -> Deed | None:  # noqa: ANN401 - JSON
    """Parse a tool call into an action, for the tool names of all hosts; for our own tools, into
    what they run, read or fetch."""
    own = name.rpartition("ctx_")[2] if "ctx_" in name else ""
    if own and isinstance(params, Mapping) and (deed := _parse_own(own, params)):
        return deed
    call = tool_call(name, params, cwd)
    return None if call is None else (call.kind, call.values, call.edits)


def _parse_own(name: str, params: Mapping[str, Any]) -> Deed | None:
    """Parse a call of one of our tools; None if it only reads stored data."""
    language, code, path = (_text(params, key) for key in ("language", "code", "path"))
    if name == "execute" and code:
        return "command", (_PREFIXES.get(language, f"{language}: ") + code,), ()
    if name == "execute_file" and path:
        return "read", (path,), ()
    if name == "batch_execute" and isinstance(listed := params.get("commands"), list):
        items = (one for one in listed if isinstance(one, Mapping))
        return "command", tuple(filter(None, (_text(one, "command") for one in items))), ()
    if name == "fetch_and_index" and (url := _text(params, "url")):
        return "fetch", (url,), ()
    return None


def _text(params: Mapping[str, Any], key: str) -> str:
    value = params.get(key)
    return value if isinstance(value, str) else ""


def belongs_to(project: str, home: str) -> Callable[[str], bool]:
    """Return a predicate for working directories of the project."""

    def belongs(folder: str) -> bool:
        return find_project(os.path.realpath(folder), home) == project

    return belongs
