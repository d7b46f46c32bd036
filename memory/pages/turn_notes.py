"""Notes of a turn under way: what was asked, and which tools were used, until its end is told.

Beside a session's buffer lie `SESSION.prompt` with one object of JSON, and `SESSION.tools` with a
name a line. What is noted has passed the gate.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from base.named_tuples import NamedTuple
from base.plain_files import open_plain
from base.whole_files import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base.plain_files import StrPath

PROMPT, TOOLS = ".prompt", ".tools"
SUFFIXES = (PROMPT, TOOLS)
NOTE_BYTES_MAX = 1 << 16
TOOLS_BYTES_MAX = 8192
KEY_CHARS_MAX = 200


class Note(NamedTuple):
    """What is known of a turn before its end. `key` is the host's own name of it; `turn` is its
    number once it has a record, which later answers of the same key amend."""

    user: str = ""
    key: str = ""
    turn: int = 0


def read_note(folder: StrPath, name: str) -> Note:
    """Read a session's note; one that is missing or damaged has nothing."""
    data = _read(os.path.join(folder, f"{name}{PROMPT}"), NOTE_BYTES_MAX)
    try:
        told = json.loads(data)
        user, key, turn = told["user"], told["key"], told["turn"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Note()
    is_note = isinstance(user, str) and isinstance(key, str) and type(turn) is int
    return Note(user.encode(errors="ignore").decode(), key, turn) if is_note else Note()


def find_noted_at(folder: StrPath, name: str) -> float:
    """Return when a session's note was written, in seconds since the epoch; 0 without one."""
    try:
        return os.lstat(os.path.join(folder, f"{name}{PROMPT}")).st_mtime
    except OSError:
        return 0.0


def write_note(folder: StrPath, name: str, note: Note) -> None:
    """Note a turn in place of the one before.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(note._asdict(), ensure_ascii=False, separators=(",", ":"))
    replace_file(os.path.join(folder, f"{name}{PROMPT}"), text.encode(errors="ignore"))


def drop_note(folder: StrPath, name: str) -> None:
    """Delete a session's note."""
    with suppress(OSError):
        os.unlink(os.path.join(folder, f"{name}{PROMPT}"))


def add_tool(folder: StrPath, name: str, tool: str) -> None:
    """Note a tool; beyond 8 KiB none.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, f"{name}{TOOLS}"), flags, 0o600)
    try:
        if os.fstat(descriptor).st_size < TOOLS_BYTES_MAX:
            os.write(descriptor, " ".join(tool.split()).encode(errors="ignore") + b"\n")
    finally:
        os.close(descriptor)


def take_tools(folder: StrPath, name: str) -> tuple[str, ...]:
    """Return the tools that were noted, and delete the note of them."""
    path = os.path.join(folder, f"{name}{TOOLS}")
    lines = _read(path, 2 * TOOLS_BYTES_MAX).decode(errors="ignore").split("\n")
    with suppress(OSError):
        os.unlink(path)
    return tuple(dict.fromkeys(filter(None, lines)))


def _read(path: str, bytes_max: int) -> bytes:
    try:
        with open_plain(path, follow=False) as file:
            return file.read(bytes_max)
    except OSError:
        return b""
