"""The files of buffers: turns as lines, and notes of the current turn. Writers hold their lock.

Next to a session's buffer are `SESSION.prompt`, one JSON object, and `SESSION.tools`, a name per
line. Notes are cleaned. No folder of the path may be a link, even if it is replaced at the same
time. Hooks load this at the end of every turn, so nothing costly is imported: paths are plain
texts, since `pathlib` takes 6 ms.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress

from base.clock import is_confirmed
from base.named_tuples import NamedTuple
from base.plain_files import open_plain, replace_file
from memory.texts import (
    ANSWER_BYTES_MAX,
    BUFFER_CAP,
    TURNS_DROPPED,
    TURNS_MAX,
    USER_BYTES_MAX,
    cut_bytes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from base.plain_files import StrPath
    from memory.gate import Gate

TOOLS_MAX = 64
TOOL_CHARS = 100
LOOKED_AT = 4
"""Multiple of a text's limit that is cleaned: redaction makes it shorter."""

TURN_MAX = 1 << 53

PROMPT, TOOLS = ".prompt", ".tools"
SUFFIXES = (PROMPT, TOOLS)
NOTE_BYTES_MAX = 1 << 16
TOOLS_BYTES_MAX = 8192
KEY_CHARS_MAX = 200

KEPT_S = 30 * 86_400.0
FILE_BYTES_MAX = 16 << 20
"""Size from which only the end of a file is read: it was not written by these hooks alone."""

NAME_CHARS_MAX = 128
ARCHIVE = "_archive"
BUFFER = ".jsonl"
_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def make_folder(folder: StrPath, name: str) -> None:
    """Make a folder for its owner alone, if it is missing."""
    with suppress(FileExistsError):
        os.mkdir(os.path.join(folder, name), 0o700)


@contextmanager
def enter_folder(base: StrPath, *parts: str) -> Iterator[str]:
    """Open a folder part by part, without links; yield a path by its descriptor.

    Raises:
        OSError: a part is missing, a link, or not a folder.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(base, flags)
    try:
        for part in parts:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class TurnRecord(NamedTuple):
    """A turn, with Contexo's field names. Texts may be empty."""

    turn: int
    ts: str = ""  # in ISO 8601
    user: str = ""
    assistant: str = ""
    tools: tuple[str, ...] = ()


def make_record(  # noqa: PLR0913 - the fields of a record
    gate: Gate, *, turn: int, ts: str, user: str, assistant: str, tools: Iterable[str]
) -> TurnRecord:
    """Make a record from the data of a hook: cleaned first, then cut."""
    named = (gate.clean_head(tool, TOOL_CHARS) for tool in tools)
    return TurnRecord(
        turn,
        ts,
        _fit(gate, user, USER_BYTES_MAX),
        _fit(gate, assistant, ANSWER_BYTES_MAX),
        tuple(dict.fromkeys(filter(None, named)))[:TOOLS_MAX],
    )


def _fit(gate: Gate, text: str, bytes_max: int) -> str:
    return cut_bytes(gate.clean_head(text, bytes_max * LOOKED_AT).strip(), bytes_max)


def write_line(record: TurnRecord) -> bytes:
    """Write a record as a line, without empty fields."""
    fields = {
        "ts": record.ts,
        "turn": record.turn,
        "user": record.user,
        "assistant": record.assistant,
        "tools": list(record.tools),
    }
    told = {name: value for name, value in fields.items() if value}
    return (json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def write_mark(dropped: int) -> bytes:
    """Write the line with the number of turns dropped before the following ones."""
    return b'{"truncated":{"dropped":%d,"reason":"%s"}}\n' % (dropped, BUFFER_CAP.encode())


def read_line(line: bytes) -> TurnRecord | int | None:
    """Read a line: a record, the number of dropped turns, or None if it is damaged."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    turn = told.get("turn")
    if isinstance(turn, int) and not isinstance(turn, bool) and 0 < turn < TURN_MAX:
        return _read_record(turn, told)
    mark = told.get("truncated")
    dropped = mark.get("dropped") if isinstance(mark, dict) else None
    if not isinstance(dropped, int) or isinstance(dropped, bool):
        return None
    return dropped if 0 < dropped < TURN_MAX else None


def _read_record(turn: int, told: Mapping[str, Any]) -> TurnRecord:
    """Read the fields of a record, with their limits: another program may have written it."""
    tools = told.get("tools")
    named = tools[:TOOLS_MAX] if isinstance(tools, list) else []
    return TurnRecord(
        turn,
        _text(told.get("ts"))[:40],
        cut_bytes(_text(told.get("user")), USER_BYTES_MAX),
        cut_bytes(_text(told.get("assistant")), ANSWER_BYTES_MAX),
        tuple(_text(one)[:TOOL_CHARS] for one in named if _text(one)),
    )


def _text(value: object) -> str:
    """Return a text without characters that UTF-8 cannot encode."""
    return value.encode(errors="ignore").decode() if isinstance(value, str) else ""


Note = tuple[str, str, int]
"""Data of a turn before its end: the user's request, the host's name of the turn, and the turn's
number once it has a record. Later answers with the same name amend that record."""

_NO_NOTE: Note = ("", "", 0)


def read_note(folder: StrPath, name: str) -> Note:
    """Read a session's note; empty if it is missing or damaged."""
    data = _read(os.path.join(folder, f"{name}{PROMPT}"), NOTE_BYTES_MAX)
    try:
        told = json.loads(data)
        user, key, turn = told["user"], told["key"], told["turn"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return _NO_NOTE
    is_note = isinstance(user, str) and isinstance(key, str) and type(turn) is int
    return (user.encode(errors="ignore").decode(), key, turn) if is_note else _NO_NOTE


def find_noted_at(folder: StrPath, name: str) -> float:
    """Return when a session's note was written, in seconds since the epoch; 0 without one."""
    try:
        return os.lstat(os.path.join(folder, f"{name}{PROMPT}")).st_mtime
    except OSError:
        return 0.0


def write_note(folder: StrPath, name: str, note: Note) -> None:
    """Write the note of a turn, replacing that of the previous one.

    Raises:
        OSError: it cannot be written.
    """
    fields = dict(zip(("user", "key", "turn"), note, strict=True))
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    replace_file(os.path.join(folder, f"{name}{PROMPT}"), text.encode(errors="ignore"))


def drop_note(folder: StrPath, name: str) -> None:
    """Delete a session's note."""
    with suppress(OSError):
        os.unlink(os.path.join(folder, f"{name}{PROMPT}"))


def add_tool(folder: StrPath, name: str, tool: str) -> None:
    """Add a tool to the note, up to 8 KiB.

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
    """Return the noted tools, and delete their note."""
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


class Buffer(NamedTuple):
    """The turns of a session that are not distilled yet.

    Attributes:
        session: its id; empty if it is read for a purpose other than showing it.
        dropped: the number of older turns that were dropped.
        at: its last change, in seconds since the epoch.
        path: its file; None for the turns of a transcript.
        upto: the value of the trailer `Buffer:`, SESSION:TURN.
        is_whole: whether the last line of its file is complete.
    """

    session: str = ""
    turns: tuple[TurnRecord, ...] = ()
    dropped: int = 0
    at: float = 0.0
    path: Path | None = None
    upto: str = ""
    is_whole: bool = True

    @property
    def last(self) -> int:
        """Return the highest number of its turns."""
        return max((one.turn for one in self.turns), default=0)


def name_buffer(session: str) -> str:
    """Name a session's file: its id, or a digest of an id that cannot be a file name."""
    if 0 < len(session) <= NAME_CHARS_MAX and _NAME_CHARS.issuperset(session):
        return session
    from base.digests import sha256  # noqa: PLC0415 - hosts' own ids are names

    return "sha-" + sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_buffer(folder: str, name: str) -> Buffer:
    """Read a file; damaged lines are skipped.

    Raises:
        OSError: it is a link or not a plain file, or cannot be read.
    """
    try:
        file = open_plain(f"{folder}/{name}{BUFFER}", follow=False)
    except FileNotFoundError:
        return Buffer()
    with file:
        found = os.fstat(file.fileno())
        file.seek(max(found.st_size - FILE_BYTES_MAX, 0))
        data = file.read(FILE_BYTES_MAX)
    turns, dropped, seen = list[TurnRecord](), 0, set[int]()
    for line in data.split(b"\n"):
        record = read_line(line) if line else None
        if isinstance(record, int):
            dropped = max(dropped, record)
        elif record is not None and record.turn not in seen:
            seen.add(record.turn)
            turns.append(record)
    is_whole = not data or data.endswith(b"\n")
    return Buffer("", tuple(turns), dropped, found.st_mtime, is_whole=is_whole)


def try_read(folder: str, name: str) -> Buffer:
    """Read a file; an unreadable one counts as empty, so that others are still read."""
    try:
        return read_buffer(folder, name)
    except OSError:
        return Buffer()


def write_buffer(path: str, turns: tuple[TurnRecord, ...], dropped: int) -> None:
    """Rewrite a file, with the number of turns dropped before.

    Raises:
        OSError: it cannot be written.
    """
    mark = [write_mark(dropped)] if dropped else []
    replace_file(path, b"".join([*mark, *map(write_line, turns)]))


def add_turn(folder: str, name: str, read: Buffer, record: TurnRecord) -> None:
    """Add a turn to the content read from a file; beyond its limit, drop the oldest turns.

    Raises:
        OSError: it cannot be written.
    """
    path = f"{folder}/{name}{BUFFER}"
    if len(read.turns) >= TURNS_MAX:
        kept = read.turns[TURNS_DROPPED:]
        dropped = read.dropped + len(read.turns) - len(kept)
        write_buffer(path, (*kept, record), dropped)
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        line = write_line(record)
        data = line if read.is_whole else b"\n" + line
        if os.write(descriptor, data) < len(data):
            raise OSError("the disk is full")
    finally:
        os.close(descriptor)


def find_archived(folder: str, name: str) -> int:
    """Return the last archived turn of a session."""
    numbers = [0]
    with suppress(OSError), enter_folder(folder, ARCHIVE) as archive:
        for entry in os.listdir(archive):
            begin, _, number = entry.removesuffix(BUFFER).rpartition(".")
            if begin == name and number.isascii() and number.isdigit() and len(number) < 16:
                numbers.append(int(number))
    return max(numbers)


def list_buffers(folder: str) -> list[tuple[float, str]]:
    """List the buffers by their last change, the newest first."""
    found = list[tuple[float, str]]()
    for entry in os.scandir(folder):
        if entry.name.endswith(BUFFER) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                stamp = entry.stat(follow_symlinks=False).st_mtime
                found.append((stamp, entry.name.removesuffix(BUFFER)))
    return sorted(found, key=lambda one: (-one[0], one[1]))


def prune_files(folder: str, now: float) -> None:
    """Delete buffers, notes and archives older than thirty days. If the clock may have jumped,
    delete none."""
    found = list(_list_files(folder))
    if not is_confirmed(now, KEPT_S, (stamp for _, _, stamp in found)):
        return
    for parts, name, stamp in found:
        if now - stamp > KEPT_S:
            with suppress(OSError), enter_folder(folder, *parts) as at:
                os.unlink(f"{at}/{name}")


def _list_files(folder: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield each buffer, note and archive: its folder, its name, its last change."""
    for parts in ((), (ARCHIVE,)):
        with suppress(OSError), enter_folder(folder, *parts) as at:
            for entry in os.scandir(at):
                if entry.name.endswith((BUFFER, *SUFFIXES)) and entry.is_file(
                    follow_symlinks=False
                ):
                    yield parts, entry.name, entry.stat(follow_symlinks=False).st_mtime
