"""Import from a stream: an agent of the user writes its session while it runs, and each line is
stored soon after it arrives. Any other format is first written to a file."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import UsageError
from ctxmode.operations.session_import import (
    AGENT,
    ImportAnswer,
    check_import,
    find_stored,
    import_file,
    index_stored,
    open_target,
)
from ctxmode.operations.session_store import belongs_to
from memory.sessions import EXPECTED_ERRORS, Record, SessionRecord, SessionStore
from memory.sessions.importers import State, own

BLOCK_BYTES = 1 << 16
FIRST_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20
PASSING_BYTES_MAX = 2 << 30


def import_stream(
    config: Config, descriptor: int, *, agent: str = "", session: str = ""
) -> ImportAnswer:
    """Import sessions from an open file, until it ends.

    Raises:
        UsageError: the file has no readable sessions.
        ContextModeError: a store cannot be written.
    """
    keeps_texts = check_import(config, agent)
    lines = _Lines(descriptor)
    if not _is_ours(lines.look()):
        return _import_passing(config, lines, agent, session)
    answer = ImportAnswer("own_lines", keeps_texts)
    with _Stream(config, answer, agent, session) as stream:
        while batch := lines.read():
            stream.store(batch)
        answer.bad_lines += lines.too_long
    index_stored(config, answer)
    return answer


def _is_ours(head: bytes) -> bool:
    """Return whether a stream begins with a line in our format."""
    value = _parse(head.lstrip().partition(b"\n")[0])
    if not isinstance(value, dict) or "format" in value:
        return False
    is_message = isinstance(value.get("role"), str) and not {"message", "parts"} & set(value)
    return value.get("type") == "session" or is_message


def _parse(line: bytes) -> object:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value


def _import_passing(config: Config, lines: _Lines, agent: str, session: str) -> ImportAnswer:
    """Import a stream of another format through a temporary file."""
    prepare_storage(config)
    handle, name = tempfile.mkstemp(".import", dir=config.state_dir)
    try:
        with open(handle, "wb") as file:
            for block in lines.read_rest():
                if file.tell() > PASSING_BYTES_MAX:
                    raise UsageError("stdin has more than 2 GiB", "Import it as a file.")
                file.write(block)
        try:
            return import_file(
                config,
                Path(name),
                agent=agent,
                session=session or str(uuid.uuid4()),
                is_passing=True,
            )
        except UsageError as error:
            raise UsageError(error.message.replace(name, "stdin"), error.hint) from error
    finally:
        os.unlink(name)


class _Lines:
    """The lines of an open file, as they arrive. `too_long` counts dropped lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._parts: list[bytes] = []  # of an incomplete line
        self._size = 0
        self._is_over = False
        self.too_long = 0

    def look(self) -> bytes:
        """Wait for the first line, or for FIRST_BYTES."""
        while not self._is_over and self._size < FIRST_BYTES:
            self._add(os.read(self._descriptor, BLOCK_BYTES))
            if b"\n" in self._parts[-1] and self._parts[-1].strip():
                break
        return b"".join(self._parts)

    def _add(self, block: bytes) -> None:
        self._is_over = not block
        self._parts.append(block)
        self._size += len(block)

    def read(self) -> list[bytes]:
        """Wait for whole lines and return them; none at the end of the file."""
        while True:
            if self._is_over or (self._parts and b"\n" in self._parts[-1]):
                *lines, rest = b"".join(self._parts).split(b"\n")
                self._parts, self._size = ([rest], len(rest)) if not self._is_over else ([], 0)
                lines += [rest] if self._is_over else []
                if whole := [line for line in lines if line.strip()]:
                    return whole
            if self._is_over:
                return []
            self._add(os.read(self._descriptor, BLOCK_BYTES))
            if self._size > LINE_BYTES_MAX:
                self._drop_line()

    def _drop_line(self) -> None:
        """Drop the rest of a line that is too long."""
        self.too_long += 1
        block = self._parts[-1]
        while block and b"\n" not in block:
            block = os.read(self._descriptor, BLOCK_BYTES)
        self._is_over = not block
        rest = block.partition(b"\n")[2]
        self._parts, self._size = [b"\n" + rest], len(rest)

    def read_rest(self) -> Iterator[bytes]:
        """Yield the remaining blocks unchanged."""
        yield from self._parts
        while not self._is_over and (block := os.read(self._descriptor, BLOCK_BYTES)):
            yield block


class _Stream:
    """Writer of lines into the stores of their sessions."""

    def __init__(self, config: Config, answer: ImportAnswer, agent: str, session: str) -> None:
        self._config = config
        self._answer = answer
        self._agent = agent
        self._state: State = {"run": uuid.uuid4().hex[:12]}
        self._belongs = belongs_to(str(config.project), str(config.home))
        self._open = ExitStack()
        self._stores: dict[bool, SessionStore] = {}
        self._targets: dict[str, tuple[str, bool]] = {}
        """By session ID: agent, and whether it belongs to the project."""
        self._current = ""
        self._default = session

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def store(self, lines: list[bytes]) -> None:
        """Store some lines, in one transaction for each session."""
        batch: list[Record] = []
        for line in lines:
            for record in self._read(line):
                if isinstance(record, SessionRecord):
                    self._write(batch)
                    batch = []
                    self._turn_to(record)
                elif not self._current:
                    self._turn_to(SessionRecord(self._default or str(uuid.uuid4())))
                    batch.append(SessionRecord(self._current))
                elif not batch:
                    batch.append(SessionRecord(self._current))
                batch.append(record)
        self._write(batch)

    def _read(self, line: bytes) -> list[Record]:
        value = _parse(line)
        try:
            if not isinstance(value, dict):
                raise ValueError("not an object")
            return list(own.parse_line(value, self._state))
        except (*EXPECTED_ERRORS, RecursionError):
            self._answer.bad_lines += 1
            return []

    def _turn_to(self, record: SessionRecord) -> None:
        self._current = record.id
        if record.id not in self._targets:
            told = record.agent if AGENT.fullmatch(record.agent) else own.LINES.agent
            self._targets[record.id] = (self._agent or told, self._is_ours(record))

    def _is_ours(self, record: SessionRecord) -> bool:
        folder = record.working_directory
        try:
            return folder.startswith("/") and self._belongs(folder)
        except (ValueError, OSError):
            return False

    def _write(self, batch: list[Record]) -> None:
        if not batch:
            return
        agent, is_ours = self._targets[self._current]
        done = self._find_store(is_ours).record(agent, batch, is_imported=True)
        stored = find_stored(self._config, self._answer, is_ours=is_ours)
        stored.session_ids |= done.session_ids
        stored.messages += done.messages

    def _find_store(self, is_ours: bool) -> SessionStore:
        if is_ours not in self._stores:
            keep = self._answer.keeps_texts
            target = open_target(self._config, is_ours=is_ours, keep_messages=keep)
            self._stores[is_ours] = self._open.enter_context(target)
        return self._stores[is_ours]
