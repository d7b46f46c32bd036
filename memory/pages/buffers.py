"""Buffers: the last turns of each session, as lines of a file below `.contexo/`.

Hooks append when a turn ends; a push that asks for distilling reads them, then archives the
distilled turns. Files are opened below folders that are not links, so nothing is written elsewhere.
A file `.gitignore` next to them keeps them out of the user's commits.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

from base.locks import hold_lock
from base.named_tuples import NamedTuple
from base.plain_files import replace_file
from memory.gate import Gate
from memory.pages.buffer_files import (
    ARCHIVE,
    BUFFER,
    KEY_CHARS_MAX,
    TOOLS_MAX,
    Buffer,
    TurnRecord,
    add_tool,
    add_turn,
    drop_note,
    enter_folder,
    find_archived,
    find_noted_at,
    list_buffers,
    make_folder,
    make_record,
    name_buffer,
    prune_files,
    read_buffer,
    read_note,
    take_tools,
    try_read,
    write_buffer,
    write_note,
)
from memory.texts import write_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from base.plain_files import StrPath
    from memory.gate import FindSecrets

FRESH_S = 6 * 3600.0
"""Age from which nothing asks to distil a buffer: its work is over."""

LOCK_WAIT_S = 5.0
PENDING = ("raw", "sessions", "_pending")
LOCK = ".lock"
IGNORE, IGNORED = ".gitignore", b"*\n"


class BufferStatus(NamedTuple):
    """The status of a buffer: its number of turns, and the age of the last one."""

    session: str
    turns: int
    dropped: int
    age_s: float


class Buffers:
    """The buffers below a folder of drafts, `.contexo/`."""

    def __init__(
        self,
        drafts_folder: StrPath,
        *,
        find_secrets: FindSecrets = lambda text: (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._drafts = os.fspath(drafts_folder)
        self._gate = Gate(find_secrets)
        self._clock = clock

    def append(  # noqa: PLR0913 - the fields of a record
        self,
        session: str,
        *,
        turn: int = 0,
        key: str = "",
        user: str = "",
        assistant: str = "",
        tools: Iterable[str] = (),
        ts: str = "",
    ) -> bool:
        """Add a turn; return whether anything was written. A turn without a number gets the next
        one, and the noted data; the same answer is then not written twice. A later answer with the
        same `key`, the host's own name of the turn, replaces the earlier one.

        Raises:
            OSError: a folder is missing or a link, or the buffer cannot be written.
        """
        name, key = name_buffer(session), self._clean_key(key)
        with self._locked(create=True) as folder:
            is_new = not os.path.lexists(f"{folder}/{name}{BUFFER}")
            read = read_buffer(folder, name)
            archived = find_archived(folder, name)
            asked, noted_key, noted_turn = read_note(folder, name)
            last = read.turns[-1] if read.turns else None
            is_same = bool(key and last and noted_turn == last.turn and noted_key == key)
            record = make_record(
                self._gate,
                turn=turn or max(read.last, archived, read.dropped) + 1,
                ts=ts or write_time(self._clock()),
                user=user or (asked if not noted_turn else ""),
                assistant=assistant,
                tools=[*take_tools(folder, name), *tools],
            )
            if is_same and last and not turn:
                return _amend(folder, name, read, record)
            is_noted = bool(asked and not noted_turn) or bool(key and noted_key not in ("", key))
            if not (record.user or record.assistant or record.tools):
                return False
            if _was_told(record, read, archived, is_numbered=bool(turn), is_noted=is_noted):
                return False
            add_turn(folder, name, read, record)
            if key:
                write_note(folder, name, ("", key, record.turn))
            else:
                drop_note(folder, name)
            if is_new:
                prune_files(folder, self._clock())
        return True

    def note_prompt(self, session: str, text: str, key: str = "") -> None:
        """Note the request of the turn that follows.

        Raises:
            OSError: a folder is missing or a link, or the note cannot be written.
        """
        record = make_record(self._gate, turn=1, ts="", user=text, assistant="", tools=())
        note = (record.user, self._clean_key(key), 0)
        if not record.user:
            return
        with self._locked(create=True) as folder:
            name = name_buffer(session)
            before = read_note(folder, name)
            _, key_before, turn_before = before
            if note[1] and note[1] == key_before and turn_before:
                return  # reported again, after the turn's end
            if before != note:
                take_tools(folder, name)
                write_note(folder, name, note)

    def find_prompted_at(self, session: str) -> float:
        """Return when the prompt of the current turn was noted, in seconds since the epoch; 0 if it
        was not."""
        with suppress(OSError), self._opened() as folder:
            name = name_buffer(session)
            asked, _, turn = read_note(folder, name)
            if asked and not turn:
                return find_noted_at(folder, name)
        return 0.0

    def note_tool(self, session: str, tool: str) -> None:
        """Note that a tool was used in the current turn. Not all hosts report its prompt first.

        Raises:
            OSError: a folder is missing or a link, or it cannot be written.
        """
        name = self._gate.clean_head(tool, KEY_CHARS_MAX)
        if name:
            self._make_folders()
            with self._opened() as folder:
                add_tool(folder, name_buffer(session), name)

    def read(self, session: str) -> Buffer | None:
        """Read a session's buffer; None if it is missing or has no turns."""
        name = name_buffer(session)
        with suppress(OSError), self._opened() as folder:
            read = read_buffer(folder, name)
            if read.turns:
                return self._build(session, name, read)
        return None

    def find(self, session: str, now: float) -> Buffer | None:
        """Find the buffer that a push may have to distil: the session's own, else the newest; not
        an empty one, and not one older than six hours."""
        own = self.read(session) if session else None
        if own is not None and _is_fresh(own.at, now):
            return own
        with suppress(OSError), self._opened() as folder:
            for at, name in list_buffers(folder):
                if not _is_fresh(at, now):
                    continue
                read = try_read(folder, name)
                if read.turns:
                    return self._build(name, name, read)
        return None

    def status(self) -> list[BufferStatus]:
        """List the buffers, the newest first."""
        listed = list[BufferStatus]()
        with suppress(OSError), self._opened() as folder:
            for at, name in list_buffers(folder):
                read = try_read(folder, name)
                age = max(self._clock() - at, 0.0)
                listed.append(BufferStatus(name, len(read.turns), read.dropped, age))
        return listed

    def archive(self, buffer: Buffer) -> None:
        """Archive the distilled turns.

        Raises:
            OSError: it cannot be written.
        """
        self.archive_upto(buffer.upto)

    def archive_upto(self, upto: str) -> None:
        """Archive the turns that a trailer `Buffer:` names; later ones stay. If the session's id
        has its agent before it, the turns are a transcript's: the whole buffer is archived, since
        the transcript has the later ones. Without turns, do nothing.

        Raises:
            OSError: it cannot be written.
        """
        session, _, number = upto.rpartition(":")
        is_transcript = ":" in session
        name = name_buffer(session.partition(":")[2] if is_transcript else session)
        last = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
        with suppress(FileNotFoundError), self._locked(create=False) as folder:
            read = read_buffer(folder, name)
            last = read.last if is_transcript else last
            done = [one for one in read.turns if one.turn <= last]
            if not done:
                return
            left = [one for one in read.turns if one.turn > last]
            make_folder(folder, ARCHIVE)
            with enter_folder(folder, ARCHIVE) as archive:
                target = f"{archive}/{name}.{done[-1].turn}{BUFFER}"
                write_buffer(target, tuple(done), read.dropped)
            path = f"{folder}/{name}{BUFFER}"
            if left:
                write_buffer(path, tuple(left), 0)
            else:
                os.unlink(path)

    def _build(self, session: str, name: str, read: Buffer) -> Buffer:
        from pathlib import Path  # noqa: PLC0415 - hooks read none, and it takes them 6 ms

        path = Path(self._drafts, *PENDING, f"{name}{BUFFER}")
        return read._replace(session=session, path=path, upto=f"{name}:{read.last}")

    def _clean_key(self, key: str) -> str:
        return self._gate.clean_head(key, KEY_CHARS_MAX) if key else ""

    @contextmanager
    def _locked(self, *, create: bool) -> Iterator[str]:
        if create:
            self._make_folders()
        with self._opened() as folder, hold_lock(f"{folder}/{LOCK}", LOCK_WAIT_S):
            yield folder

    @contextmanager
    def _opened(self) -> Iterator[str]:
        """Open the folder of buffers; yield a path that stays valid if folders are renamed."""
        base, name = os.path.split(os.path.abspath(self._drafts))
        with enter_folder(base, name, *PENDING) as folder:
            yield folder

    def _make_folders(self) -> None:
        base, name = os.path.split(os.path.abspath(self._drafts))
        with enter_folder(base, name) as drafts:
            if os.path.lexists("/".join((drafts, *PENDING, IGNORE))):
                return
            for depth in range(len(PENDING)):
                with enter_folder(drafts, *PENDING[:depth]) as folder:
                    make_folder(folder, PENDING[depth])
            with enter_folder(drafts, *PENDING) as folder:
                replace_file(f"{folder}/{IGNORE}", IGNORED)


def _was_told(
    record: TurnRecord, read: Buffer, archived: int, *, is_numbered: bool, is_noted: bool
) -> bool:
    """Return whether a turn was written before, as when a hook is registered twice."""
    if is_numbered:
        is_dropped = bool(read.dropped and read.turns) and record.turn < read.turns[0].turn
        return is_dropped or record.turn <= archived or record.turn in {o.turn for o in read.turns}
    if is_noted or not read.turns:
        return False
    last = read.turns[-1]
    return record.assistant == last.assistant and record.user in ("", last.user)


def _amend(folder: str, name: str, read: Buffer, record: TurnRecord) -> bool:
    """Add the new parts of a turn to its record, the last one; return whether there were any."""
    last = read.turns[-1]
    made = last._replace(
        user=last.user or record.user,
        assistant=record.assistant or last.assistant,
        tools=tuple(dict.fromkeys((*last.tools, *record.tools)))[:TOOLS_MAX],
    )
    if made == last:
        return False
    write_buffer(f"{folder}/{name}{BUFFER}", (*read.turns[:-1], made), read.dropped)
    return True


def _is_fresh(at: float, now: float) -> bool:
    return now - at < FRESH_S
