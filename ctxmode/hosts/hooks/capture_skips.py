"""Events for the capture of turns alone, in a project that captures none: nothing is to be done.

Most projects have no `.contexo/`, and yet hosts start a hook or two for each turn. So this is asked
before anything else is loaded, and reads no JSON: where it cannot tell, `run` does.
"""

from __future__ import annotations

import io
import os
import sys

DRAFTS = ".contexo"
STOP = ("userpromptsubmit", "stop")
EVENTS = {
    "claude-code": STOP,
    "cline": ("userpromptsubmit", "taskcomplete"),
    "codebuddy": STOP,
    "codex": STOP,
    "droid": STOP,
    "gemini-cli": ("afteragent",),
    "kiro": STOP,
    "opencode": ("session.idle",),
    "qoder": STOP,
    "qwen-code": STOP,
    "tabnine": ("beforeagent", "afteragent"),
    "vscode-copilot": ("stop",),
    "windsurf": ("pre_user_prompt", "post_cascade_response"),
}
"""The events of each host, in lower case, that its adapter has for the capture of turns alone, and
answers by saying nothing."""

FOLDER_ENDINGS = ("_PROJECT_DIR", "_CWD")
"""How all variables end by which hosts tell their hooks a folder."""

KEYS = (b'"cwd"', b'"workspaceRoots"')
"""Fields that tell a folder, or a list of them of which the first counts."""

BLANKS = b" \t\r\n"


def has_nothing_to_do(arguments: list[str]) -> bool:
    """Tell whether an event asks for nothing. Its text is read; who asks next can read it again."""
    if len(arguments) != 2 or arguments[1].lower() not in EVENTS.get(arguments[0], ()):
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


def list_folders(text: bytes) -> list[str] | None:
    """List where a turn may be: what its event and its host say, and the folder of this process;
    None if that takes more to tell."""
    if b"workspace_roots" in text:
        return None
    folders = [os.getcwd()]
    for name, told in os.environ.items():
        if name.endswith(FOLDER_ENDINGS) and told:
            folders.append(told)
    for following in (part for key in KEYS for part in text.split(key)[1:]):
        value, quote, _ = _read_value(following)
        if not quote or b"\\" in value or not value.startswith(b"/"):
            return None
        folders.append(value.decode("utf-8", "replace"))
    return folders


def _read_value(following: bytes) -> tuple[bytes, bytes, bytes]:
    """Split what follows a key at the end of its value, a text; empty if it is none. Of a list of
    texts it is the first."""
    sign = following.lstrip(BLANKS)
    value = sign[1:].lstrip(BLANKS).removeprefix(b"[").lstrip(BLANKS)
    if not (sign.startswith(b":") and value.startswith(b'"')):
        return b"", b"", b""
    return value[1:].partition(b'"')


def _is_below_drafts(folder: str) -> bool:
    """Tell whether the folder or any above it has drafts: the project is one of these."""
    at = os.path.realpath(folder)
    while not os.path.isdir(os.path.join(at, DRAFTS)):
        above = os.path.dirname(at)
        if above == at:
            return False
        at = above
    return True
