"""Packs of a project: its map is brought up to date, its files ranked for a task, and fitted."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from base.plain_files import read_plain
from ctxmode.config.locations import Config, prepare_storage
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.facts import open_memory
from kb.tokens import DEAREST, FAMILIES, estimate
from memory.facts.recalling import RecallRequest
from policy import secrets
from repomap.errors import MapError, MapInputError
from repomap.fitting import check_request, fit
from repomap.model import LeftOut
from repomap.pack_model import Format, Pack, PackRequest, Redaction
from repomap.ranking import Ranked, rank_by_centrality, rank_files
from repomap.scanning import ScanRequest, scan
from repomap.since import find_changed
from repomap.store import MapStore
from repomap.walking import FILE_BYTES

CONTEXTOS_FOLDER = ".contextos"
CONTEXTOS_FILES = ("CURRENT_TASK.md", "MEMORY.md", "DECISIONS.md")
"""ContextOS's own files: the first is the task where none is given; files that they name are
mentioned, as if the task named them."""

CONTEXTOS_BYTES = 256 * 1024
MEMORY_SHARE = 0.15
MEMORY_MIN = 200
"""Tokens below which no facts are put in."""

_NOT_NEWLINE = re.compile(rb"[^\n]")


@dataclass(frozen=True, slots=True)
class PackAsked:
    """What a person or an agent asks of a pack; an empty task is the project's current one."""

    task: str = ""
    budget: int = 8000
    family: str = DEAREST
    format: Format = "markdown"
    paths: tuple[str, ...] = ()
    with_source: bool = True
    with_tests: bool = True
    since: str = ""  # a revision: what changed, and what depends on it, comes first


@dataclass(frozen=True, slots=True)
class PackAnswer:
    """A pack, and what it was chosen from."""

    pack: Pack
    ranked: tuple[Ranked, ...]
    left_out: tuple[LeftOut, ...]


def make_pack(config: Config, asked: PackAsked) -> PackAnswer:
    """Make a pack of the project's files.

    Raises:
        UsageError: the budget, the family, a glob or the revision is none that can be.
        ContextModeError: the project cannot be scanned, or its map not be kept.
    """
    if asked.family not in FAMILIES:
        raise UsageError(f"unknown family {asked.family!r}", f"One of {', '.join(FAMILIES)}.")
    texts = read_contextos(config.project)
    task = asked.task.strip() or texts.get(CONTEXTOS_FILES[0], "").strip()
    request = PackRequest(
        task=task,
        count=lambda text: estimate(text, asked.family),
        redact=redact,
        budget=asked.budget,
        estimator=asked.family,
        format=asked.format,
        paths=asked.paths,
        with_source=asked.with_source,
        with_tests=asked.with_tests,
        memory=_recall(config, task, asked),
        mentioned="\n".join(texts.values()),
    )
    with _translate_errors():
        check_request(request)
        prepare_storage(config)
        store = MapStore(config.map_file)
        try:
            report = scan(store, ScanRequest(config.project, secrets.is_secret_path, hide_secrets))
            with store.reading() as db:
                ranked, notes = _rank(db, config.project, request, asked.since)
                pack = fit(
                    db,
                    config.project,
                    request,
                    ranked,
                    file_bytes=FILE_BYTES,
                    notes=(*report.notes, *notes),
                )
            return PackAnswer(pack, ranked, report.left_out)
        finally:
            store.close()


def _rank(
    db: sqlite3.Connection, project: Path, request: PackRequest, since: str
) -> tuple[tuple[Ranked, ...], tuple[str, ...]]:
    """Order the files for the task and what changed; without either by how central they are."""
    extra: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    if since:
        changed = find_changed(db, project, since)
        extra = changed.evidence
        count = sum(value >= 1 for value in extra.values())
        notes = (f"{count} files changed since {since}, {len(extra) - count} depend on them",)
        if changed.gone:
            notes += (f"{len(changed.gone)} more are gone, or not in the map",)
    ranked: tuple[Ranked, ...] = ()
    if request.task or extra:
        ranked = rank_files(db, request.task, mentioned=request.mentioned, extra=extra)
    return ranked or rank_by_centrality(db), notes


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except MapInputError as error:
        raise UsageError(error.message, error.remedy) from error
    except MapError as error:
        raise ContextModeError(error.message, error.remedy) from error


def read_contextos(project: Path) -> dict[str, str]:
    """Return the texts of ContextOS's files that are there, by name."""
    found = {}
    for name in CONTEXTOS_FILES:
        try:
            data = read_plain(project / CONTEXTOS_FOLDER / name, CONTEXTOS_BYTES, project)
        except OSError:
            continue
        found[name] = data.decode("utf-8", "replace")
    return found


def _recall(config: Config, task: str, asked: PackAsked) -> str:
    """Return the pinned facts and those that fit the task; empty where there are none."""
    # Recall counts a token as four bytes, and some families as little as two and a half.
    room = int(MEMORY_SHARE * asked.budget / 2)
    if room < MEMORY_MIN:
        return ""
    with open_memory(config) as memory:
        found = memory.recall(RecallRequest(query=task[:2000], budget=room))
    return found.text.strip() if found.facts else ""


def redact(text: str) -> Redaction:
    """Return a text with each secret replaced by its kind, and their lines."""
    found = secrets.redact(text)
    lines = ((text.count("\n", 0, one.start) + 1, one.kind) for one in found.secrets)
    return Redaction(found.text, tuple(lines))


def hide_secrets(data: bytes) -> bytes:
    """Overwrite the secrets in a text, so that its lines and offsets stay."""
    hidden = bytearray(data)
    for one in secrets.find_secrets(data):
        hidden[one.start : one.end] = _NOT_NEWLINE.sub(b"x", data[one.start : one.end])
    return bytes(hidden)
