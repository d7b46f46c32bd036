"""The map of a project: opening, updating, and redaction of its files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import policy
from base import secrets
from ctxmode.config.locations import Config, prepare_storage, require_project
from ctxmode.config.rules import load as load_rules
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError
from repomap import (
    MapError,
    MapInputError,
    MapStore,
    Redaction,
    ScanReport,
    ScanRequest,
    remove_map,
    scan,
    workers,
)

_NOT_NEWLINE = re.compile(rb"[^\n]")


OpenMap = tuple[sqlite3.Connection, ScanReport, int]
"""An updated map, its scan report, and the size limit of a file that is read."""


@contextmanager
def open_map(config: Config) -> Iterator[OpenMap]:
    """Update the map of the project, and open it for reading.

    Raises:
        ContextModeError: the project cannot be scanned, or its map not be stored.
        UsageError: the request is invalid.
    """
    require_project(config)
    values = load_settings(config.project, config.config_home).values
    rules = load_rules(config.project, config.home)
    file_bytes = int(values["map.file_bytes"])
    asked = ScanRequest(
        config.project,
        secrets.is_secret_path,
        hide_secrets,
        is_denied=partial(_is_denied, rules=rules, root=str(config.project)),
        file_bytes=file_bytes,
        files=int(values["map.files"]),
    )
    with translate_map_errors():
        prepare_storage(config)
        store = MapStore(config.map_file)
        try:
            try:
                report = scan(store, asked)
            finally:
                workers.restart()  # stop them until the next pack
            with store.reading() as db:
                yield db, report, file_bytes
        finally:
            store.close()


def forget_map(config: Config) -> bool:
    """Remove the map of the project; return whether there was one. Raise ContextModeError if it
    cannot be removed."""
    with translate_map_errors():
        return remove_map(config.map_file)


@contextmanager
def translate_map_errors() -> Iterator[None]:
    """Raise errors of `repomap` as errors of ctxmode."""
    try:
        yield
    except MapInputError as error:
        raise UsageError(error.message, error.remedy) from error
    except MapError as error:
        raise ContextModeError(error.message, error.remedy) from error


def _is_denied(path: str, *, rules: policy.Rules, root: str) -> bool:
    """Return whether a rule denies reading a file; a map follows no links, so its path is real."""
    return not policy.evaluate_read(f"{root}/{path}", rules, real_path=str).allowed


def redact(text: str) -> Redaction:
    """Return a text with each secret replaced by its kind, and the lines of the secrets."""
    shown, found = secrets.redact(text)
    return (shown, _list_lines(text, found))


def keep_secrets(text: str) -> Redaction:
    """Return a text unchanged, and the lines of its secrets."""
    return (text, _list_lines(text, secrets.redact(text)[1]))


def _list_lines(text: str, found: Iterable[secrets.Secret]) -> tuple[tuple[int, str], ...]:
    return tuple((text.count("\n", 0, one.start) + 1, one.kind) for one in found)


def hide_secrets(data: bytes) -> bytes:
    """Overwrite the secrets in a text without changing its lines and offsets."""
    hidden = bytearray(data)
    for one in secrets.find_secrets(data):
        hidden[one.start : one.end] = _NOT_NEWLINE.sub(b"x", data[one.start : one.end])
    return bytes(hidden)
