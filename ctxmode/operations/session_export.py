"""Export of a session's files into a folder that may exist already."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ctxmode.config.locations import Config
from ctxmode.errors import UsageError, why
from ctxmode.hosts.registry import find_importer
from ctxmode.operations.output_folder import Destination, RefusedError, open_destination
from ctxmode.operations.sessions import open_holding_store
from memory.sessions import build_export, reading, write_export, write_summary, write_transcript
from memory.sessions.importers import own, read_members

FOLDER = "sessions"
MESSAGES, SUMMARY, TRANSCRIPT = "messages.json", "summary.md", "transcript.md"
MODE = 0o600
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,150}")


def export_session(
    config: Config, wanted: str, to: Path, *, markdown: bool = False, everywhere: bool = False
) -> dict[str, Any]:
    """Write a session's files to `sessions/ID/` in a folder. Return the exported files and their
    folder; `truncated` counts incomplete messages.

    Raises:
        UsageError: the session is unknown, or another file has the name.
        ContextModeError: the store cannot be read.
    """
    with open_holding_store(config, wanted, everywhere=everywhere) as (store, session):
        messages = store.read_full_messages(find_importer, session)
        with store.database.reading() as db:
            told, usage, shown = build_export(db, session, messages)
            compactions = reading.read_compactions(db, session.id)
    contents: dict[str, Iterable[bytes]] = {
        MESSAGES: write_export(told, usage, shown),
        SUMMARY: [write_summary(session, compactions).encode(errors="replace")],
    }
    if markdown:
        parts = write_transcript(session, messages)
        contents[TRANSCRIPT] = (part.encode(errors="replace") for part in parts)
    folder = to / FOLDER / name_folder(session.id)
    _write(folder, to, session.id, contents)
    return {
        "id": session.id,
        "folder": str(folder),
        "files": list(contents),
        "messages": len(shown),
        "truncated": sum(message["truncated"] for message in shown),
    }


def name_folder(session_id: str) -> str:
    """Return the name of a session's folder: its ID, with unsafe characters replaced."""
    if _PLAIN.fullmatch(session_id):
        return session_id
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9._:-]+", "-", session_id).lstrip("-.:")[:100]
    return f"{plain or 'session'}-{digest}"


def _write(folder: Path, to: Path, session_id: str, contents: dict[str, Iterable[bytes]]) -> None:
    try:
        to.mkdir(parents=True, exist_ok=True)
        root = to.resolve(strict=True)
        with open_destination(root / folder.relative_to(to), root) as destination:
            _check_free(folder, session_id, contents)
            for name, parts in contents.items():
                _replace(destination, name, parts)
    except RefusedError as error:
        text = str(error).replace(" in the project, which", ", which")
        raise UsageError(text, "Export to another folder with --to.") from error
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {why(error)}", "Give another folder with --to."
        ) from error


def _replace(destination: Destination, name: str, parts: Iterable[bytes]) -> None:
    destination.replace(name, io.BytesIO(b"".join(parts)), MODE)


def _check_free(folder: Path, session_id: str, contents: dict[str, Iterable[bytes]]) -> None:
    """Raise RefusedError if existing files are not an export of this session."""
    there = [name for name in contents if (folder / name).is_symlink() or (folder / name).exists()]
    if there and _read_id(folder / MESSAGES) != session_id:
        raise RefusedError(f"{folder / there[0]} already exists and is not of this session")


def _read_id(path: Path) -> str:
    is_ours, session_id = False, ""
    try:
        for name, value, is_one in read_members(str(path), "messages"):
            is_ours = is_ours or (name == "format" and value == own.FORMAT)
            if name == "session" and isinstance(value, dict):
                session_id = str(value.get("id"))
            if is_one or (is_ours and session_id):
                break
    except (OSError, ValueError):
        return ""
    return session_id if is_ours else ""
