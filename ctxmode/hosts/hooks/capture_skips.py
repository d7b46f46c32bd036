"""Quick check for events that only serve the capture of turns, in projects that capture none.

Most projects have no `.contexo/`, but hosts start one or two hooks for each turn. So this check
runs before other modules are loaded and parses no JSON; `run` handles unclear events.
"""

from __future__ import annotations

import io
import os
import sys

HOSTS_FOLDER = os.path.dirname(os.path.dirname(__file__))
DRAFTS = ".contexo"
ALONE = ("asked", "answered")
"""Purposes of events that only serve the capture of turns."""

FOLDER_ENDINGS = ("_PROJECT_DIR", "_CWD")
"""Endings of all variables in which hosts pass a folder to their hooks."""

KEYS = (b'"cwd"', b'"workspaceRoots"')
"""Fields with a folder, or with a list of folders of which the first counts."""

BLANKS = b" \t\r\n"


def has_nothing_to_do(arguments: list[str]) -> bool:
    """Return whether an event needs no action. The text of stdin stays readable."""
    if len(arguments) != 2 or arguments[1].lower() not in list_silent(arguments[0]):
        return False
    try:
        text = sys.stdin.buffer.read()
    except (AttributeError, OSError, ValueError):  # it is closed
        return False
    sys.stdin = io.TextIOWrapper(io.BytesIO(text))
    if os.environ.get("CONTEXO_CAPTURE_DISABLE") == "1":
        return True
    try:
        folders = list_folders(text)
        return folders is not None and not any(map(_is_below_drafts, folders))
    except (OSError, ValueError):
        return False


def list_silent(host: str) -> list[str]:
    """List a host's events, in lower case, that only serve the capture of turns and get no
    answer."""
    name = host.replace("-", "_")
    if not (name.isidentifier() and os.path.exists(f"{HOSTS_FOLDER}/{name}/row.toml")):
        return []
    row = __import__(f"ctxmode.hosts.{name}", fromlist=("EVENTS",))
    events = (
        getattr(row, "EVENTS", {}) if "always_answers" not in getattr(row, "TRAITS", ()) else {}
    )
    return [event.lower() for event, purpose in events.items() if purpose in ALONE]


def list_folders(text: bytes) -> list[str] | None:
    """List the possible folders of a turn from its event, its host and this process; None if the
    event must be parsed."""
    if b"workspace_roots" in text:
        return None
    folders = [os.getcwd()]
    for name, value in os.environ.items():
        if name.endswith(FOLDER_ENDINGS) and value:
            folders.append(value)
    for following in (part for key in KEYS for part in text.split(key)[1:]):
        folder, quote, _ = _read_value(following)
        if not quote or b"\\" in folder or not folder.startswith(b"/"):
            return None
        folders.append(folder.decode("utf-8", "replace"))
    return folders


def _read_value(following: bytes) -> tuple[bytes, bytes, bytes]:
    """Split the text after a key at the end of the key's value: a text, or the first of a list;
    empty if it is neither."""
    sign = following.lstrip(BLANKS)
    value = sign[1:].lstrip(BLANKS).removeprefix(b"[").lstrip(BLANKS)
    if not (sign.startswith(b":") and value.startswith(b'"')):
        return b"", b"", b""
    return value[1:].partition(b'"')


def _is_below_drafts(folder: str) -> bool:
    """Return whether the folder or a folder above has drafts; the project is one of them."""
    at = os.path.realpath(folder)
    while not os.path.isdir(os.path.join(at, DRAFTS)):
        above = os.path.dirname(at)
        if above == at:
            return False
        at = above
    return True
